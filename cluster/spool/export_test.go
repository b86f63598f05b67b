package spool

// OnStep calls fn with what a spool has just done.
func (o *Options) OnStep(fn func(what string)) { o.step = fn }
