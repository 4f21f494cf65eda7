package gantry

import (
	"errors"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/redact"
)

// CheckConfigsOptions says which configurations CheckConfigs reads.
type CheckConfigsOptions struct {
	Files []string
	// Strict makes files with warnings invalid.
	Strict bool
}

// A ConfigCheck is the result of CheckConfigs. Its JSON is what gantry config check --output json
// prints.
type ConfigCheck struct {
	Version int             `json:"version"`
	Files   []CheckedConfig `json:"files"`
}

// A CheckedConfig is the result for one file.
type CheckedConfig struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Problems []ConfigProblem `json:"problems,omitempty"`
	// Warnings are about text that is read and should be corrected.
	Warnings []ConfigProblem `json:"warnings,omitempty"`
}

// A ConfigProblem is a problem of a configuration, or a warning about it.
type ConfigProblem struct {
	File    string `json:"file,omitempty"` // "" in a CheckedConfig
	Line    int    `json:"line,omitempty"` // from 1; 0 if the problem is not about a line
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String returns "imageset.yaml:12: message; hint".
func (p ConfigProblem) String() string {
	return imageset.Problem{Pos: imageset.Position{File: p.File, Line: p.Line, Column: p.Column}, Message: p.Message, Hint: p.Hint}.String()
}

// CheckConfigs reads configurations, also of the kind DeleteImageSetConfiguration, and returns all problems and warnings. Whether packages, channels
// and images exist is not checked. If a file is invalid, it returns the result and an error of kind
// Input.
func CheckConfigs(o CheckConfigsOptions) (*ConfigCheck, error) {
	result := &ConfigCheck{Version: 1, Files: []CheckedConfig{}}
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
		return result, inputf("%d of %d files are invalid or have warnings", invalid+warned, len(o.Files))
	case invalid > 0:
		return result, inputf("%d of %d files are invalid", invalid, len(o.Files))
	case warned > 0:
		return result, inputHint("gantry config convert corrects most of them", "%d of %d files have warnings", warned, len(o.Files))
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
		checked.Warnings = ConfigProblems(warnings)
	case errors.As(err, &invalid):
		checked.Problems, checked.Warnings = ConfigProblems(invalid.Problems), ConfigProblems(invalid.Warnings)
	default:
		checked.Problems = []ConfigProblem{{Message: redact.Text(err.Error()), Hint: redact.Text(advice.Hint(err))}}
	}
	for _, all := range [][]ConfigProblem{checked.Problems, checked.Warnings} {
		for i := range all {
			all[i].File = ""
		}
	}
	return checked
}
