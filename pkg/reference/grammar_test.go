package reference

import (
	"strings"
	"testing"
)

func TestGrammar(t *testing.T) {
	long := strings.Repeat("a", MaxPath)
	for s, want := range map[string]struct{ path, tag bool }{
		"a": {true, true}, "org/name": {true, false}, "a.b_c__d---e/f": {true, false}, "0": {true, true},
		long: {true, false}, long + "a": {}, strings.Repeat("a", 128): {true, true}, strings.Repeat("a", 129): {true, false},
		"v4.20": {true, true}, "V4_x-y.z": {false, true}, "_x": {false, true},
		"": {}, "/a": {}, "a/": {}, "a//b": {}, "../a": {}, "a/..": {}, "-a": {}, ".a": {}, "a b": {}, "a\n": {}, "a:b": {}, "a@b": {}, "ä": {},
		"a..b": {false, true}, "a___b": {false, true}, "a-": {false, true},
	} {
		if IsPath(s) != want.path || IsTag(s) != want.tag {
			t.Errorf("%q: path %t, tag %t; want %+v", s, IsPath(s), IsTag(s), want)
		}
	}
}

// The grammar is that by which Parse goes.
func FuzzGrammar(f *testing.F) {
	f.Add("org/name", "v1")
	f.Add("a__b", "_x")
	f.Add("A/b", "v1.")
	f.Add(strings.Repeat("a", MaxPath), strings.Repeat("t", 128))
	f.Add(strings.Repeat("a", MaxPath+1), "v1")
	f.Fuzz(func(t *testing.T, path, tag string) {
		r, err := Parse("registry.example.com/" + path + ":" + tag)
		parsed := err == nil && r.Path == path && r.Tag == tag
		if is := IsPath(path) && IsTag(tag); is != parsed {
			t.Errorf("path %q and tag %q: %t, Parse says %+v, %v", path, tag, is, r, err)
		}
	})
}
