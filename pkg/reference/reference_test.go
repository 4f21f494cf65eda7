package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sha = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Reference
	}{
		{"quay.io/a/b:v1", Reference{"quay.io", "a/b", "v1", ""}},
		{"quay.io/a/b@" + sha, Reference{"quay.io", "a/b", "", sha}},
		{"quay.io/a/b:v1@" + sha, Reference{"quay.io", "a/b", "v1", sha}},
		{"127.0.0.1:5000/a", Reference{"127.0.0.1:5000", "a", "", ""}},
		{"localhost/a/b/c/d:x", Reference{"localhost", "a/b/c/d", "x", ""}},
		{"centos", Reference{"docker.io", "library/centos", "", ""}},
		{"index.docker.io/org/a:1", Reference{"docker.io", "org/a", "1", ""}},
	} {
		got, err := Parse(tc.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.in, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Parse(%q): %s", tc.in, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{"", "quay.io/A/b", "quay.io/a:b:c", "quay.io/a@sha256:12", "https://quay.io/a", "quay.io/a b", "-"} {
		if r, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", in, r)
		} else if in != "" && !strings.Contains(err.Error(), in) {
			t.Errorf("Parse(%q): the error does not name the reference: %v", in, err)
		}
	}
}

func TestIsShort(t *testing.T) {
	for in, want := range map[string]bool{
		"centos": true, "ubi9/ubi": true, "ubi9/ubi:latest": true,
		"quay.io/a": false, "localhost/a": false, "host:5000/a": false,
	} {
		if got := IsShort(in); got != want {
			t.Errorf("IsShort(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"quay.io/a/b:v1@" + sha, "centos", "localhost:5000/x", "a/b/c:t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil {
			t.Fatalf("Parse(%q) wrote %q, which does not parse: %v", s, r, err)
		}
		if r != again {
			t.Fatalf("Parse(%q) = %+v, read back %+v", s, r, again)
		}
	})
}
