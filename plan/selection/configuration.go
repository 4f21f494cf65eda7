package selection

import (
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// ConfigProblems returns problems as results have them, without passwords and tokens.
func ConfigProblems(all []imageset.Problem) []ConfigProblem {
	var out []ConfigProblem
	for _, p := range all {
		out = append(out, ConfigProblem{
			File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Message: redact.Text(p.Message), Hint: redact.Text(p.Hint),
		})
	}
	return out
}

// maxConfigWarnings is the number of warnings about a configuration that a run prints.
const maxConfigWarnings = 20

// WarnConfig sends the warnings about a configuration, if there is one. Each is sent once.
func WarnConfig(e *env.Env, c *imageset.Config) {
	if c == nil || len(c.Warnings) == 0 {
		return
	}
	if !e.Once("warnings about " + c.Pos.File) {
		return
	}
	for _, p := range c.Warnings[:min(len(c.Warnings), maxConfigWarnings)] {
		p.Message = "warning: " + p.Message
		e.Warnf("%s", p)
	}
	if more := len(c.Warnings) - maxConfigWarnings; more > 0 {
		e.Warnf("%s about %s; gantry config check lists them", env.Number(more, "more warning", "more warnings"), c.Pos.File)
	}
}

// A ConvertedConfig is the result of ConvertConfig. Its JSON is what gantry config convert --output json
// prints.
type ConvertedConfig struct {
	Version int    `json:"version"`
	File    string `json:"file"`
	// Changed are the warnings about the file that Text does not have, Left those about what has no
	// other form.
	Changed []ConfigProblem `json:"changed"`
	Left    []ConfigProblem `json:"left"`
	Text    string          `json:"text"`
}

// ConvertConfig rewrites the configuration in a file as mirror.openshift.io/v2alpha1: it selects the
// same, and has no warnings except for those that are left. The file is not changed.
func ConvertConfig(file string) (*ConvertedConfig, error) {
	c, err := imageset.ConvertFile(file)
	if err != nil {
		return nil, env.Inputf("%w", err)
	}
	return &ConvertedConfig{
		Version: 1, File: file, Text: string(c.Text),
		Changed: append([]ConfigProblem{}, ConfigProblems(c.Changed)...), Left: append([]ConfigProblem{}, ConfigProblems(c.Left)...),
	}, nil
}
