package main

import (
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// A rateFlag is a flag for bytes per second: 50MiB.
type rateFlag struct {
	text string
	rate limits.Rate
}

func (r *rateFlag) String() string { return r.text }
func (r *rateFlag) Type() string   { return "string" }

// Set reads a rate. An empty text is no limit.
func (r *rateFlag) Set(s string) (err error) {
	r.text, r.rate = s, 0
	if s == "" {
		return nil
	}
	if r.rate, err = limits.ParseRate(s); err != nil {
		return &formError{err}
	}
	return nil
}

// A minRateFlag is a rateFlag for which 0 means that there is no minimum.
type minRateFlag struct{ rateFlag }

// Set reads a rate, or 0.
func (r *minRateFlag) Set(s string) error {
	if s == "0" {
		r.text, r.rate = s, env.NoMinRate
		return nil
	}
	return r.rateFlag.Set(s)
}
