package registriesd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// folder writes files to a folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestOpen(t *testing.T) {
	c, err := Open(folder(t, map[string]string{
		"default.yaml": "default-docker:\n  lookaside: https://default.example\n  lookaside-staging: file:///staging\n",
		"a.yaml": `docker:
  quay.io:
    use-sigstore-attachments: true
  quay.io/org:
    lookaside: https://org.example/sigs/
  quay.io/org/name:v1:
    use-sigstore-attachments: false
  old.example:5000:
    sigstore: http://old.example/store
  "*.wild.example":
    lookaside: file:///wild
`,
		"ignored.txt": "?: [",
	}))
	fail.On(t, err)
	d := digest.FromString("x")
	at := "@sha256=" + d.Encoded() + "/signature-"
	for image, want := range map[string]struct {
		lookaside string
		use, set  bool
	}{
		"quay.io/org/name:v1":   {"https://org.example/sigs/org/name" + at, false, true},
		"quay.io/org/name:v2":   {"https://org.example/sigs/org/name" + at, true, true},
		"quay.io/other/name:v1": {"https://default.example/other/name" + at, true, true},
		"old.example:5000/a/b":  {"http://old.example/store/a/b" + at, false, false},
		"old.example/a":         {"https://default.example/a" + at, false, false},
		"r.wild.example:1/a":    {"file:///wild/a" + at, false, false},
	} {
		ref, err := reference.Parse(image)
		fail.On(t, err)
		if use, set := c.Attachments(ref); use != want.use || set != want.set {
			t.Errorf("%s: attachments %t %t", image, use, set)
		}
		fail.Diff(t, want.lookaside, c.Lookaside(ref, d))
	}
	var none *Config
	if _, set := none.Attachments(reference.Reference{}); set || none.Lookaside(reference.Reference{Host: "a", Path: "b"}, d) != "" {
		t.Error("no configuration names a place")
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"twice":         {map[string]string{"a.yaml": "docker: {quay.io: {}}", "b.yaml": "docker: {quay.io: {}}"}, "b.yaml: quay.io is also in "},
		"default twice": {map[string]string{"a.yaml": "default-docker: {}", "b.yaml": "default-docker: {}"}, "b.yaml: default-docker is also in "},
		"not YAML":      {map[string]string{"a.yaml": "docker: ["}, "a.yaml: "},
		"no name":       {map[string]string{"a.yaml": `docker: {"": {}}`}, "has no name"},
		"scheme":        {map[string]string{"a.yaml": "docker: {quay.io: {lookaside: \"ftp://x\"}}"}, "https, http or file"},
		"wrong type":    {map[string]string{"a.yaml": "docker: {quay.io: {use-sigstore-attachments: perhaps}}"}, "a.yaml: "},
	} {
		_, err := Open(folder(t, tc.files))
		if err == nil || !strings.Contains(err.Error(), tc.want) || advice.KindOf(err) != advice.Input {
			t.Errorf("%s: want %q, got %v", name, tc.want, err)
		}
	}
}
