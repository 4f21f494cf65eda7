package config

import (
	"errors"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// CheckOptions says which configurations Check reads.
type CheckOptions struct {
	Files []string
	// Strict makes files with warnings invalid.
	Strict bool
}

// A Checked is the result of Check. Its JSON is what gantry config check --output json
// prints.
type Checked struct {
	Version int             `json:"version"`
	Files   []CheckedConfig `json:"files"`
}

// A CheckedConfig is the result for one file.
type CheckedConfig struct {
	File     string                    `json:"file"`
	OK       bool                      `json:"ok"`
	Problems []selection.ConfigProblem `json:"problems,omitempty"`
	// Warnings are about text that is read and should be corrected.
	Warnings []selection.ConfigProblem `json:"warnings,omitempty"`
}

// Check reads configurations, also of the kind DeleteImageSetConfiguration, and returns all problems and warnings. Whether packages, channels
// and images exist is not checked. If a file is invalid, it returns the result and an error of kind
// Input.
func Check(o CheckOptions) (*Checked, error) {
	result := &Checked{Version: 1, Files: []CheckedConfig{}}
	invalid, warned := 0, 0
	for _, file := range o.Files {
		checked := checkConfig(file)
		checked.OK = len(checked.Problems) == 0 && (!o.Strict || len(checked.Warnings) == 0)
		switch {
		case len(checked.Problems) > 0:
			invalid++
		case !checked.OK:
			warned++
		}
		result.Files = append(result.Files, checked)
	}
	switch {
	case warned > 0 && invalid > 0:
		return result, env.InputHint("fix the lines that are listed", "%d of %d files are invalid or have warnings", invalid+warned, len(o.Files))
	case invalid > 0:
		return result, env.InputHint("fix the lines that are listed", "%d of %d files are invalid", invalid, len(o.Files))
	case warned > 0:
		return result, env.InputHint("gantry config convert corrects most of them", "%d of %d files have warnings", warned, len(o.Files))
	}
	return result, nil
}

// checkConfig returns the problems and warnings of a file.
func checkConfig(file string) CheckedConfig {
	checked := CheckedConfig{File: file}
	warnings, err := imageset.Check(file)
	var invalid *imageset.Error
	switch {
	case err == nil:
		checked.Warnings = selection.ConfigProblems(warnings)
	case errors.As(err, &invalid):
		checked.Problems, checked.Warnings = selection.ConfigProblems(invalid.Problems), selection.ConfigProblems(invalid.Warnings)
	default:
		checked.Problems = []selection.ConfigProblem{{Message: redact.Text(err.Error()), Hint: redact.Text(advice.Hint(err))}}
	}
	for _, all := range [][]selection.ConfigProblem{checked.Problems, checked.Warnings} {
		for i := range all {
			all[i].File = ""
		}
	}
	return checked
}
