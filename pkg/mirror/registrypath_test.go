package mirror

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

func TestParseRegistryPath(t *testing.T) {
	for in, want := range map[string]RegistryPath{
		"docker://mirror.example.com":          {Host: "mirror.example.com"},
		"docker://mirror.example.com:5000/":    {Host: "mirror.example.com:5000"},
		"docker://localhost/ocp/4":             {Host: "localhost", Prefix: "ocp/4"},
		"docker://127.0.0.1:5000/ocp":          {Host: "127.0.0.1:5000", Prefix: "ocp"},
		"docker://mirror.example.com:443/a-b/": {Host: "mirror.example.com:443", Prefix: "a-b"},
	} {
		got, err := ParseRegistryPath(in, 0)
		fail.On(t, err)
		fail.Diff(t, want, got)
	}
	for in, word := range map[string]string{
		"mirror.example.com":                  "docker://",
		"docker://":                           "no registry",
		"docker:///ocp":                       "no registry",
		"docker://mirror":                     "mirror:5000",
		"docker://mirror.example.com:99999":   "from 1 to 65535",
		"docker://mirror.example.com:0/a":     "from 1 to 65535",
		"docker://mirror.example.com/A":       "lowercase",
		"docker://mirror.example.com/a//b":    "docker://mirror.example.com/a//b",
		"docker://user:pw@mirror.example.com": "gantry registry login mirror.example.com",
	} {
		if d, err := ParseRegistryPath(in, 0); err == nil || !strings.Contains(advice.Text(err), word) {
			t.Errorf("ParseRegistryPath(%q) = %+v, %v; want an error with %q", in, d, err, word)
		} else if strings.Contains(advice.Text(err), "pw") {
			t.Errorf("ParseRegistryPath(%q) repeats the password: %v", in, err)
		}
	}
	if _, err := ParseRegistryPath("docker://localhost/p/q", 2); err == nil {
		t.Error("a prefix without space for a repository was accepted")
	}
	_, err := ParseRegistryPath("docker://localhost/p/q", 3)
	fail.On(t, err)
	if _, err := ParseRegistryPath("docker://localhost", -1); err == nil {
		t.Error("a negative limit was accepted")
	}
}

func TestOwnRepository(t *testing.T) {
	for want, d := range map[string]RegistryPath{
		"p/gantry-lease":   {Prefix: "p"},
		"p/q/gantry-lease": {Prefix: "p/q", MaxNestedPaths: 3},
		"r/gantry-lease":   {Prefix: "r", MaxNestedPaths: 2},
		"gantry/lease":     {MaxNestedPaths: 2},
		"gantry-lease":     {MaxNestedPaths: 1},
	} {
		fail.Diff(t, want, d.OwnRepository("lease").Path)
	}
}

func TestRepositories(t *testing.T) {
	p := &plan.Plan{}
	for _, r := range []string{"a", "a/b", "a/b/c/d", "a/b-c/d", "a/b-c-d", "x/y/z"} {
		p.Images = append(p.Images, plan.Image{Repository: r, Tags: []string{"v1"}})
	}
	for _, tc := range []struct {
		d    RegistryPath
		want map[string]string
	}{
		{RegistryPath{Host: "h", Prefix: ""}, map[string]string{"a": "a", "a/b": "a/b", "a/b/c/d": "a/b/c/d", "a/b-c/d": "a/b-c/d", "a/b-c-d": "a/b-c-d", "x/y/z": "x/y/z"}},
		{RegistryPath{Host: "h", Prefix: "p/q"}, map[string]string{"a": "p/q/a", "a/b": "p/q/a/b", "a/b/c/d": "p/q/a/b/c/d", "a/b-c/d": "p/q/a/b-c/d", "a/b-c-d": "p/q/a/b-c-d", "x/y/z": "p/q/x/y/z"}},
		// Three repositories map to a/b-c-d. The one that already has this name keeps it.
		{RegistryPath{Host: "h", MaxNestedPaths: 2}, map[string]string{"a": "a", "a/b": "a/b", "a/b/c/d": "a/b-c-d-*", "a/b-c/d": "a/b-c-d-*", "a/b-c-d": "a/b-c-d", "x/y/z": "x/y-z"}},
		{RegistryPath{Host: "h", Prefix: "p", MaxNestedPaths: 2}, map[string]string{"a": "p/a", "a/b": "p/a-b", "a/b/c/d": "p/a-b-c-d-*", "a/b-c/d": "p/a-b-c-d-*", "a/b-c-d": "p/a-b-c-d-*", "x/y/z": "p/x-y-z"}},
	} {
		names, err := tc.d.Repositories(p)
		fail.On(t, err)
		seen := map[string]bool{}
		for repository, want := range tc.want {
			got := names[repository].Path
			prefix, hashed := strings.CutSuffix(want, "*")
			if hashed && strings.HasPrefix(got, prefix) && len(got) == len(prefix)+8 {
				want = got
			}
			fail.Diff(t, want, got)
			if seen[got] {
				t.Errorf("%+v: %s is used twice", tc.d, got)
			}
			seen[got] = true
		}
	}
	long := &plan.Plan{Images: []plan.Image{{Repository: strings.Repeat("a", 200), Tags: []string{"v1"}}}}
	if _, err := (RegistryPath{Host: "h", Prefix: strings.Repeat("b", 60)}).Repositories(long); err == nil {
		t.Error("a path of 261 characters was accepted")
	}
}
