package registries

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const sha = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func load(t *testing.T, files map[string]string, env map[string]string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		fail.On(t, os.MkdirAll(filepath.Dir(path), 0o700))
		fail.On(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return Load(Options{
		Home: filepath.Join(dir, "home"), SystemDir: filepath.Join(dir, "etc"),
		Getenv: func(k string) string {
			if env[k] == "" {
				return ""
			}
			return filepath.Join(dir, env[k])
		},
	})
}

// places returns endpoints as "reference", with " insecure" and " mirror".
func places(list []Endpoint) []string {
	var out []string
	for _, e := range list {
		s := e.Reference.String()
		if e.Insecure {
			s += " insecure"
		}
		if e.Mirror {
			s += " mirror"
		}
		out = append(out, s)
	}
	return out
}

func TestSources(t *testing.T) {
	const conf = `
unqualified-search-registries = ["docker.io"]
short-name-mode = "enforcing"
credential-helpers = ["containers-auth.json"]
[aliases]
"ubi9" = "registry.example/ubi9"

[[registry]]
location = "plain.example"
insecure = true

[[registry]]
prefix = "quay.io"
location = "127.0.0.1:5000/quay"
insecure = true

[[registry]]
prefix = "quay.io/org"
location = "other.example/x/y"

[[registry]]
prefix = "docker.io"
location = "hub.example"

[[registry]]
location = "many.example"
[[registry.mirror]]
location = "one.example/m"
insecure = true
[[registry.mirror]]
location = "two.example"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "three.example"
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "four.example"
pull-from-mirror = "all"

[[registry]]
location = "digests.example"
mirror-by-digest-only = true
[[registry.mirror]]
location = "one.example"

[[registry]]
location = "closed.example"
blocked = true

[[registry]]
location = "never.example"
blocked = true
mirror-by-digest-only = true
[[registry.mirror]]
location = "closed.example/m"
[[registry.mirror]]
location = "one.example/never"

[[registry]]
prefix = "*.wild.example"
insecure = true

[[registry]]
prefix = "*.to.example"
location = "fixed.example/base"

[[registry]]
prefix = "a.wild.example"
location = "exact.example"
`
	c, err := load(t, map[string]string{"etc/registries.conf": conf}, nil)
	fail.On(t, err)
	for _, tc := range []struct {
		ref     string
		want    []string
		blocked bool
	}{
		{ref: "none.example/a:v1", want: []string{"none.example/a:v1"}},
		{ref: "plain.example/a:v1", want: []string{"plain.example/a:v1 insecure"}},
		{ref: "plain.example:5000/a:v1", want: []string{"plain.example:5000/a:v1"}},
		{ref: "quay.io/a/b:v1", want: []string{"127.0.0.1:5000/quay/a/b:v1 insecure"}},
		{ref: "quay.io/organic/b:v1", want: []string{"127.0.0.1:5000/quay/organic/b:v1 insecure"}},
		{ref: "quay.io/org/b:v1@" + sha, want: []string{"other.example/x/y/b:v1@" + sha}},
		{ref: "centos:7", want: []string{"hub.example/library/centos:7"}},
		{ref: "many.example/a:v1", want: []string{"one.example/m/a:v1 insecure mirror", "three.example/a:v1 mirror", "four.example/a:v1 mirror", "many.example/a:v1"}},
		{ref: "many.example/a@" + sha, want: []string{"one.example/m/a@" + sha + " insecure mirror", "two.example/a@" + sha + " mirror", "four.example/a@" + sha + " mirror", "many.example/a@" + sha}},
		{ref: "digests.example/a:v1", want: []string{"digests.example/a:v1"}},
		{ref: "digests.example/a@" + sha, want: []string{"one.example/a@" + sha + " mirror", "digests.example/a@" + sha}},
		{ref: "closed.example/a:v1", blocked: true},
		{ref: "never.example/a:v1", blocked: true},
		{ref: "never.example/a@" + sha, want: []string{"one.example/never/a@" + sha + " mirror"}},
		{ref: "x.y.wild.example:5000/a:v1", want: []string{"x.y.wild.example:5000/a:v1 insecure"}},
		{ref: "wild.example/a:v1", want: []string{"wild.example/a:v1"}},
		{ref: "notwild.example/a:v1", want: []string{"notwild.example/a:v1"}},
		{ref: "h.example/b.wild.example/a:v1", want: []string{"h.example/b.wild.example/a:v1"}},
		{ref: "a.wild.example/a:v1", want: []string{"exact.example/a:v1"}},
		{ref: "sub.to.example/a/b:v1", want: []string{"fixed.example/base/a/b:v1"}},
	} {
		ref, err := reference.Parse(tc.ref)
		fail.On(t, err)
		got, err := c.Sources(ref)
		if errors.Is(err, ErrBlocked) != tc.blocked || err != nil && !tc.blocked {
			t.Errorf("%s: %v", tc.ref, err)
		}
		fail.Diff(t, tc.want, places(got))
	}

	// A destination is never rewritten.
	for ref, want := range map[string]string{
		"quay.io/a:v1": "quay.io/a:v1 insecure", "many.example/a:v1": "many.example/a:v1", "plain.example/a:v1": "plain.example/a:v1 insecure",
		"none.example/a:v1": "none.example/a:v1",
	} {
		r, err := reference.Parse(ref)
		fail.On(t, err)
		got, err := c.Destination(r)
		fail.On(t, err)
		fail.Diff(t, []string{want}, places([]Endpoint{got}))
	}
	closed := reference.Reference{Host: "closed.example", Path: "a", Tag: "v1"}
	if _, err := c.Destination(closed); !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "registries.conf") {
		t.Errorf("a blocked destination: %v", err)
	}
	if got, err := (*Config)(nil).Sources(closed); err != nil || len(got) != 1 {
		t.Errorf("without a configuration: %v, %v", got, err)
	}
}

func TestFiles(t *testing.T) {
	entry := func(location string) string {
		return fmt.Sprintf("[[registry]]\nprefix = \"quay.io\"\nlocation = %q\n", location)
	}
	const system, user, named = "etc/registries.conf", "home/.config/containers/registries.conf", "named.conf"
	env := map[string]string{"CONTAINERS_REGISTRIES_CONF": named}
	for _, tc := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		want  string
	}{
		{"none", nil, nil, "quay.io"},
		{"the system's", map[string]string{system: entry("system.io")}, nil, "system.io"},
		{"a drop-in goes first", map[string]string{system: entry("system.io"), system + ".d/1.conf": entry("one.io")}, nil, "one.io"},
		{"the last drop-in goes first", map[string]string{system + ".d/1.conf": entry("one.io"), system + ".d/2.conf": entry("two.io"), system + ".d/3.txt": entry("three.io")}, nil, "two.io"},
		{"the user's drop-ins go before the system's", map[string]string{system + ".d/9.conf": entry("nine.io"), user + ".d/1.conf": entry("one.io")}, nil, "one.io"},
		{"the user's stands for the system's and its drop-ins", map[string]string{system: entry("system.io"), system + ".d/1.conf": entry("one.io"), user: entry("user.io")}, nil, "user.io"},
		{"named", map[string]string{system: entry("system.io"), user: entry("user.io"), named: entry("named.io")}, env, "named.io"},
		{"drop-ins go before what is named", map[string]string{named: entry("named.io"), system + ".d/1.conf": entry("one.io")}, env, "one.io"},
	} {
		c, err := load(t, tc.files, tc.env)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got, err := c.Sources(reference.Reference{Host: "quay.io", Path: "a", Tag: "v1"})
		if err != nil || len(got) != 1 || got[0].Reference.Host != tc.want {
			t.Errorf("%s: %v, %v, want %s", tc.name, got, err, tc.want)
		}
	}
	if _, err := load(t, nil, env); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "$CONTAINERS_REGISTRIES_CONF") {
		t.Errorf("a named file that is missing: %v", err)
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct{ conf, says string }{
		"syntax":             {"[[registry]]\nlocation = \n", "registries.conf:2"},
		"type":               {"[[registry]]\nlocation = \"a.io\"\ninsecure = \"yes\"\n", "registries.conf:3"},
		"format 1":           {"[registries.search]\nregistries = [\"docker.io\"]\n", "format 1"},
		"neither":            {"[[registry]]\ninsecure = true\n", "number 1"},
		"no location":        {"[[registry]]\nprefix = \"quay.io\"\n", "no location"},
		"scheme":             {"[[registry]]\nlocation = \"https://quay.io\"\n", "remove http"},
		"wildcard and path":  {"[[registry]]\nprefix = \"*.quay.io/a\"\n", "wildcard"},
		"wildcard inside":    {"[[registry]]\nlocation = \"a.*.io\"\n", "wildcard"},
		"upper case":         {"[[registry]]\nlocation = \"quay.io/A\"\n", "lower case"},
		"two that differ":    {"[[registry]]\nlocation = \"quay.io\"\n[[registry]]\nlocation = \"quay.io\"\nblocked = true\n", "two"},
		"mirror location":    {"[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\ninsecure = true\n", "mirror 1"},
		"pull-from-mirror":   {"[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m.io\"\npull-from-mirror = \"some\"\n", "digest-only"},
		"pull-from outside":  {"[[registry]]\nlocation = \"quay.io\"\npull-from-mirror = \"all\"\n", "[[registry.mirror]]"},
		"pull-from and both": {"[[registry]]\nlocation = \"quay.io\"\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = \"m.io\"\npull-from-mirror = \"all\"\n", "exclude"},
	} {
		_, err := load(t, map[string]string{"etc/registries.conf": tc.conf}, nil)
		if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "registries.conf") {
			t.Errorf("%s: the error does not say %q: %v", name, tc.says, err)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "registries.conf"), []byte("[[registry]]\nlocation = \"a.io\"\ninsecur = true\n"), 0o600))
	var out strings.Builder
	c, err := Load(Options{SystemDir: dir, Home: dir, Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil || len(c.entries) != 1 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"line 3", "registry.insecur", "did you mean", "insecure"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log does not say %q: %s", want, out.String())
		}
	}
}

// FuzzRead checks that with any accepted file, every reference below a prefix is rewritten to a
// valid reference, or refused with an error.
func FuzzRead(f *testing.F) {
	f.Add("[[registry]]\nprefix = \"quay.io/a\"\nlocation = \"127.0.0.1:5000\"\ninsecure = true\n[[registry.mirror]]\nlocation = \"m.io/x\"\n", "a/b")
	f.Add("[[registry]]\nprefix = \"*.a.io\"\nblocked = true\n", "x")
	f.Fuzz(func(t *testing.T, conf, path string) {
		entries, _, err := read("fuzz", []byte(conf))
		if err != nil {
			return
		}
		c := &Config{entries: entries}
		for _, e := range entries {
			ref, err := reference.Parse(strings.Replace(e.Prefix, "*.", "sub.", 1) + "/" + path + ":v1")
			if err != nil {
				continue
			}
			list, err := c.Sources(ref)
			if err == nil && len(list) == 0 {
				t.Fatalf("%s: neither a source nor an error", ref)
			}
			for _, p := range list {
				if again, err := reference.Parse(p.Reference.String()); err != nil || again != p.Reference {
					t.Fatalf("%s is read from %s, which is no reference: %v", ref, p.Reference, err)
				}
			}
		}
	})
}

// TestBlobSources checks that blobs are read from every mirror of their repository, and each endpoint once.
func TestBlobSources(t *testing.T) {
	t.Parallel()
	const conf = `
[[registry]]
location = "many.example"
blocked = true
[[registry.mirror]]
location = "one.example/m"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "one.example/m"
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "two.example"
pull-from-mirror = "tag-only"

[[registry]]
location = "digests.example"
mirror-by-digest-only = true
[[registry.mirror]]
location = "one.example"
`
	c, err := load(t, map[string]string{"etc/registries.conf": conf}, nil)
	fail.On(t, err)
	for repository, want := range map[string][]string{
		"many.example/a":    {"one.example/m/a", "two.example/a"},
		"digests.example/a": {"one.example/a", "digests.example/a"},
		"other.example/a":   {"other.example/a"},
	} {
		ref, err := reference.Parse(repository)
		fail.On(t, err)
		list, err := c.BlobSources(ref)
		got := elements.Map(list, func(e Endpoint) string { return e.Reference.Name() })
		fail.On(t, err)
		fail.Diff(t, want, got)
	}
}
