package reference

import (
	"regexp"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

var pathExpression, tagExpression = regexp.MustCompile(PathPattern), regexp.MustCompile(TagPattern)

func TestGrammar(t *testing.T) {
	long := strings.Repeat("a", MaxPath)
	for s, want := range map[string]struct{ path, tag bool }{
		"a": {true, true}, "org/name": {true, false}, "a.b_c__d---e/f": {true, false}, "0": {true, true},
		long: {true, false}, long + "a": {}, strings.Repeat("a", 128): {true, true}, strings.Repeat("a", 129): {true, false},
		"v4.20": {true, true}, "V4_x-y.z": {false, true}, "_x": {false, true},
		"": {}, "/a": {}, "a/": {}, "a//b": {}, "../a": {}, "a/..": {}, "-a": {}, ".a": {}, "a b": {}, "a\n": {}, "a:b": {}, "a@b": {}, "ä": {},
		"a..b": {false, true}, "a___b": {false, true}, "a-": {false, true},
	} {
		if got := len(s) <= MaxPath && pathExpression.MatchString(s); got != want.path || tagExpression.MatchString(s) != want.tag {
			t.Errorf("%q: the expressions say path %t, tag %t", s, got, !want.tag)
		}
		if IsPath(s) != want.path || IsTag(s) != want.tag {
			t.Errorf("%q: path %t, tag %t; want %+v", s, IsPath(s), IsTag(s), want)
		}
	}
}

// FuzzGrammar checks that IsPath and IsTag accept the same text as Parse and the expressions for
// JSON Schemas.
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
		if is, want := IsPath(path), len(path) <= MaxPath && pathExpression.MatchString(path); is != want {
			t.Errorf("path %q: %t, the expression says %t", path, is, want)
		}
		if is, want := IsTag(tag), tagExpression.MatchString(tag); is != want {
			t.Errorf("tag %q: %t, the expression says %t", tag, is, want)
		}
	})
}

// TestIsKnownDigest checks that digests are judged as package digest does.
func TestIsKnownDigest(t *testing.T) {
	sha256, sha512 := digest.FromString("a"), digest.SHA512.FromString("a")
	for _, d := range []digest.Digest{
		sha256, sha512, digest.SHA384.FromString("a"),
		"", "sha256:", "sha256", sha256[:70], sha256 + "0", sha512[:70], "sha256:" + sha512[7:], "md5:" + sha256[39:], "sha256+b64:" + sha256[7:],
		digest.Digest(strings.ToUpper(string(sha256))), "sha256:" + digest.Digest(strings.ToUpper(sha256.Encoded())),
		sha256[:70] + "g", sha256[:70] + "/", sha256[:70] + ":", sha256[:70] + "`", sha256[:70] + "\n", "x" + sha256,
	} {
		if got, want := IsKnownDigest(d), d.Validate() == nil; got != want {
			t.Errorf("%q: %v, want %v", d, got, want)
		}
	}
}
