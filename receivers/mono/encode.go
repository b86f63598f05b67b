package mono

import (
	"encoding/binary"
	"fmt"
)

// AppendHello appends the first message of an agent, which announces counters.
func AppendHello(dst []byte, counters []Counter) ([]byte, error) {
	if len(counters) > MaxCounters {
		return dst, fmt.Errorf("%d counters, at most %d are allowed", len(counters), MaxCounters)
	}
	start := len(dst)
	dst = append(dst, cmdHello)
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(counters)))
	taken := make(map[int16]bool)
	for i := range counters {
		c := &counters[i]
		if taken[c.Index] {
			return dst[:start], fmt.Errorf("two counters have the index %d", c.Index)
		}
		taken[c.Index] = true
		var err error
		if dst, err = appendHeader(dst, c); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

func appendHeader(dst []byte, c *Counter) ([]byte, error) {
	if err := checkText("name", c.Name); err != nil {
		return dst, err
	}
	if c.Index < 0 || c.Type < Int || c.Type > Double {
		return dst, fmt.Errorf("counter %q of type %d with the index %d", c.Name, c.Type, c.Index)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Category))
	dst = appendText(dst, c.Name)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Type))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Unit))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.Variance))
	return binary.LittleEndian.AppendUint16(dst, uint16(c.Index)), nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}

func appendNull(dst []byte) []byte {
	null := int32(nullText)
	return binary.LittleEndian.AppendUint32(dst, uint32(null))
}

// AppendList appends an agent's answer to a list request.
func AppendList(dst []byte, pairs []Pair) ([]byte, error) {
	if len(pairs) > MaxPairs {
		return dst, fmt.Errorf("%d counters, at most %d are allowed", len(pairs), MaxPairs)
	}
	start := len(dst)
	dst = append(dst, cmdList)
	for _, p := range pairs {
		for _, s := range [...]string{p.First, p.Second} {
			if err := checkText("text", s); err != nil && s != "" {
				return dst[:start], err
			}
			dst = appendText(dst, s)
		}
	}
	return appendNull(dst), nil
}

// AppendAdded appends an agent's answer to an add request. If s is OK, c is the counter that it
// samples now.
func AppendAdded(dst []byte, s Status, c *Counter) ([]byte, error) {
	b := append(dst, cmdAdd, byte(s))
	if s != OK {
		return b, nil
	}
	b, err := appendHeader(b, c)
	if err != nil {
		return dst, err
	}
	return b, nil
}

// AppendRemoved appends an agent's answer to a remove request.
func AppendRemoved(dst []byte, s Status) []byte { return append(dst, cmdRemove, byte(s)) }

// AppendSample appends a sample with the given values. Agents send only values that have changed.
func AppendSample(dst []byte, ticks int64, values []Value) ([]byte, error) {
	if len(values) > MaxValues {
		return dst, fmt.Errorf("%d values, at most %d are allowed", len(values), MaxValues)
	}
	start := len(dst)
	dst = append(dst, cmdSample)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(ticks))
	for _, v := range values {
		if v.Index < 0 {
			return dst[:start], fmt.Errorf("a value with the index %d", v.Index)
		}
		size := v.Type.size()
		dst = binary.LittleEndian.AppendUint16(dst, uint16(v.Index))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
		if size == 4 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v.Bits))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, v.Bits)
		}
	}
	return binary.LittleEndian.AppendUint16(dst, 0xffff), nil
}
