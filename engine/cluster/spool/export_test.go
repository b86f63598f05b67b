package spool

// OnStep has fn told what a spool has just done.
func (o *Options) OnStep(fn func(what string)) { o.step = fn }
