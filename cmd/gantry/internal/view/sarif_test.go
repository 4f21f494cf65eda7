package view

import (
	"encoding/json"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func TestConfigCheckSARIF(t *testing.T) {
	t.Parallel()
	checked := &config.Checked{Files: []config.CheckedConfig{
		{File: "sets/a b.yaml", Problems: []selection.ConfigProblem{{Line: 4, Column: 3, Message: "unknown field", Hint: `did you mean "files"?`}}},
		{File: "/etc/set.yaml", Problems: []selection.ConfigProblem{{Message: "no such file"}}},
		{File: "c.yaml", OK: true, Warnings: []selection.ConfigProblem{{Line: 9, Message: `is read as "1.2.0"`}}},
		{File: "ok.yaml", OK: true},
	}}
	text, err := json.Marshal(ConfigCheckSARIF(checked, "v1.2.3").Runs[0])
	fail.On(t, err)
	want := `{"tool":{"driver":{"name":"gantry","version":"v1.2.3","informationUri":"https://github.com/gantry-mirror/gantry","rules":[` +
		`{"id":"invalid-configuration","shortDescription":{"text":"A configuration that cannot be used"}},` +
		`{"id":"advised-configuration","shortDescription":{"text":"Text that is read and should be corrected"}}]}},"results":[` +
		`{"ruleId":"invalid-configuration","level":"error","message":{"text":"unknown field; did you mean \"files\"?"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"sets/a%20b.yaml"},"region":{"startLine":4,"startColumn":3}}}]},` +
		`{"ruleId":"invalid-configuration","level":"error","message":{"text":"no such file"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///etc/set.yaml"}}}]},` +
		`{"ruleId":"advised-configuration","level":"warning","message":{"text":"is read as \"1.2.0\""},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"c.yaml"},"region":{"startLine":9}}}]}]}`
	fail.Diff(t, want, string(text))
	// A file without problems leads to an empty list, not to null, which readers refuse.
	text, err = json.Marshal(ConfigCheckSARIF(&config.Checked{}, ""))
	fail.On(t, err)
	fail.Diff(t, `[]`, string(text[len(text)-len(`[]}]}`):len(text)-len(`}]}`)]))
}
