package selection

import (
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A ConfigProblem is a problem of a configuration, or a warning about it.
type ConfigProblem struct {
	File    string `json:"file,omitempty"` // "" in a config.CheckedConfig
	Line    int    `json:"line,omitempty"` // from 1; 0 if the problem is not about a line
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String returns "imageset.yaml:12: message; hint".
func (p ConfigProblem) String() string {
	return imageset.Problem{Pos: imageset.Position{File: p.File, Line: p.Line, Column: p.Column}, Message: p.Message, Hint: p.Hint}.String()
}
