package main

import (
	"time"

	"github.com/gantry-mirror/gantry/plan/selection"
)

// A formError is the error of a flag whose value has a form of its own: it says what to write.
type formError struct{ error }

func (e *formError) Unwrap() error { return e.error }

// An ageFlag is a flag for an age in whole days: 3d, 2w or 72h.
type ageFlag struct {
	text string
	age  time.Duration
}

func (a *ageFlag) String() string { return a.text }
func (a *ageFlag) Type() string   { return "string" }

// Set reads an age. An empty text is no age.
func (a *ageFlag) Set(s string) (err error) {
	a.text, a.age = s, 0
	if s == "" {
		return nil
	}
	if a.age, err = selection.ParseMinAge(s); err != nil {
		return &formError{err}
	}
	return nil
}
