package reference

import (
	_ "crypto/sha512" // so that digests with it are accepted
	"strings"
	"testing"

	"github.com/distribution/reference"
)

// compared are references at the borders of the grammar.
var compared = []string{
	"", "/", ":", "@", "a", "a/", "/a", "a//b", "a:", "a@", "a:b", "a:b:c", "a:b/c", "A", "A/b", "a/B", "é/a", "a/é", "É/a", "a\xff/b", "a\n",
	"a.b", "a.b/c", "a_b.c/d", "a__b.c/d/e:f", "a___b.c/d", "a-.b/c", "-a.b/c", "a..b/c", ".a/c", "a./c", "A.B/c", "A-b/c", "a--b/c", "a-/c",
	"localhost", "localhost/a", "localhost:5000/a", "LOCALHOST/a", "a:5000/b", "a:/b", "a:5x/b", "a.b:5000", "a.b:5000/c:5000",
	"[::1]/a", "[::1]:5000/a:b", "[]/a", "[::1/a", "[::1]x/a", "[::g]/a", "[::1]:/a", "x[::1]/a", "1.2.3.4/a", "1.2.3.4:0/a",
	"docker.io/a", "docker.io/a/b", "docker.io", "index.docker.io/a", "index.docker.io/a/b", "library/a",
	"a/b:_x", "a/b:.x", "a/b:-x", "a/b:x.", "a/b:X-_.9", "a/b:x+y",
	"a/b:" + strings.Repeat("t", 128), "a/b:" + strings.Repeat("t", 129),
	"h.io/" + strings.Repeat("a", 255), "h.io/" + strings.Repeat("a", 256), "h_.io/" + strings.Repeat("a", 250), "h_h.io/" + strings.Repeat("a", 248), "h_h.io/" + strings.Repeat("a", 249),
	strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("g", 64), strings.Repeat("0", 64) + ":x", "a/" + strings.Repeat("a", 64),
	"a/b@" + sha, "a/b:c@" + sha, "a/b@" + sha + ":c", "a/b:@" + sha, "a/b@@" + sha, "a/b@SHA256:" + sha[7:], "a/b@sha256:" + strings.ToUpper(sha[7:]),
	"a/b@sha256:" + sha[8:], "a/b@sha512:" + sha[7:], "a/b@sha512:" + sha[7:] + sha[7:], "a/b@x:" + sha[7:], "a/b@9x:" + sha[7:], "a/b@x9+y:" + sha[7:], "a/b@x+:" + sha[7:],
	"a/b@x+9:" + sha[7:], "a/b@:" + sha[7:], "a/b@sha256" + sha[7:], "a/b@sha256:" + sha[7:] + "\n", "a/b@sha256:" + sha[7:] + "g", "https://a/b", "a b", "a/b c", " a/b",
}

// compare checks that Parse accepts a text exactly if the package of the distribution project does,
// with the same result.
func compare(t *testing.T, s string) {
	t.Helper()
	got, err := Parse(s)
	want, wantErr := reference.ParseNormalizedNamed(s)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("Parse(%q) = %+v, %v; want %v, %v", s, got, err, want, wantErr)
	}
	if err != nil || wantErr != nil {
		return
	}
	parts := Reference{Host: got.Host, Path: strings.TrimPrefix(want.Name(), got.Host+"/")}
	if domain := reference.Domain(want); domain != "" && domain != got.Host {
		t.Errorf("Parse(%q) has the host %q, want %q", s, got.Host, domain)
	}
	if tagged, ok := want.(reference.Tagged); ok {
		parts.Tag = tagged.Tag()
	}
	if digested, ok := want.(reference.Digested); ok {
		parts.Digest = digested.Digest()
	}
	if got != parts || got.String() != want.String() {
		t.Errorf("Parse(%q) = %+v, want %+v", s, got, parts)
	}
}

func TestGrammarOfDistribution(t *testing.T) {
	for _, s := range compared {
		compare(t, s)
	}
}

func FuzzGrammarOfDistribution(f *testing.F) {
	for _, s := range compared {
		f.Add(s)
	}
	f.Fuzz(compare)
}
