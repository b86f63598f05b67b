package alerts

// save writes the alerts into the file that keeps them.
func (m *Manager) save() {
	if m.StateFile == "" {
		return
	}
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	text, err := stateText(m.groups, m.Now())
	m.mu.Unlock()
	if err == nil {
		err = writeState(m.StateFile, text)
	}
	if err != nil {
		m.warn("the state of alerts was not saved", "file", m.StateFile, "err", err)
	}
}
