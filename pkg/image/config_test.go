package image

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRebuiltConfig checks that a config keeps unknown fields exactly, and that its keys are sorted.
func TestRebuiltConfig(t *testing.T) {
	one, two, top := digest.FromString("one"), digest.FromString("two"), digest.FromString("top")
	before := `{
		"os": "linux", "created": "2024-05-06T07:08:09.123456789Z", "architecture": "amd64", "x": 12345678901234567890123,
		"config": {"Cmd": ["serve", "/configs", "--cache-dir=/tmp/cache"], "Entrypoint": ["opm"], "Labels": {"b": "<&>", "a": ""}, "Later": {"z": 1, "a": [1.50]}},
		"rootfs": {"type": "layers", "diff_ids": ["` + string(one) + `", "` + string(two) + `"], "y": null},
		"history": [{"created_by": "one"}, {"created_by": "env", "empty_layer": true}, {"created_by": "two", "extra": 1e3}]
	}`
	want := `{"architecture":"amd64",` +
		`"config":{"Cmd":["serve","/configs"],"Entrypoint":["opm"],"Labels":{"b":"<&>","a":""},"Later":{"z":1,"a":[1.50]}},` +
		`"created":"2024-05-06T07:08:09.123456789Z",` +
		`"history":[{"created_by":"one"},{"created_by":"env","empty_layer":true},{"created":"2024-05-06T07:08:09.123456789Z","created_by":"gantry: catalog in /configs"}],` +
		`"os":"linux",` +
		`"rootfs":{"diff_ids":["` + string(one) + `","` + string(top) + `"],"type":"layers","y":null},` +
		`"x":12345678901234567890123}`
	fail.Diff(t, want, rebuiltConfig(t, before, []digest.Digest{one, two}, top))
	// A history that does not match the layers is removed, and no history is added.
	for _, history := range []string{`[{"created_by":"one"}]`, `[{},{},{}]`} {
		odd := before[:strings.Index(before, `"history"`)] + `"history":` + history + `}`
		if got := rebuiltConfig(t, odd, []digest.Digest{one, two}, top); strings.Contains(got, "history") {
			t.Errorf("the history %s stayed: %s", history, got)
		}
	}
	none := strings.Replace(before, `"history"`, `"other"`, 1)
	if got := rebuiltConfig(t, none, []digest.Digest{one, two}, top); strings.Contains(got, "history") {
		t.Errorf("a history was added: %s", got)
	}
}

func rebuiltConfig(t *testing.T, config string, ids []digest.Digest, top digest.Digest) string {
	t.Helper()
	o, err := DecodeObject([]byte(config))
	fail.On(t, err)
	p := &Platform{Config: o, DiffIDs: ids, Command: Command{[]string{"opm"}, []string{"serve", "/configs", "--cache-dir=/tmp/cache"}}}
	got, err := p.rebuiltConfig([]bool{false, true}, top, Change{Command: Command{[]string{"opm"}, []string{"serve", "/configs"}}, By: "catalog in /configs"})
	fail.On(t, err)
	text, err := encode(got)
	fail.On(t, err)
	return string(text)
}
