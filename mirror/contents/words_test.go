package contents

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestWords checks what words match: parts of names, or whole names if they have wildcards or must be whole.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		whole bool
		words []string
		name  string
		want  bool
	}{
		{false, nil, "anything", true},
		{false, []string{""}, "anything", true}, // an unset variable of a script
		{false, []string{"LOG"}, "cluster-logging", true},
		{false, []string{"log*"}, "cluster-logging", false},
		{false, []string{"*log*"}, "Cluster-Logging", true},
		{false, []string{"log????"}, "logging", true},
		{false, []string{"log???"}, "logging", false},
		{false, []string{"a.b"}, "axb", false},
		{false, []string{"[a]"}, "a", false},
		{false, []string{"x", "y"}, "say", true},
		{true, []string{"log"}, "logging", false},
		{true, []string{"LOGGING"}, "logging", true},
		{true, []string{"log*"}, "logging", true},
		{true, nil, "", true},
	} {
		if got := newWordPattern(test.whole, test.words...).match(test.name); got != test.want {
			t.Errorf("%q (whole: %v) matches %q: %v", test.words, test.whole, test.name, got)
		}
	}
	if w := newWordPattern(false, "b"); !w.match("a", "b") || w.match() {
		t.Error("one of several names is not enough, or none is")
	}
}

// TestPresence checks which references a mirror has: by the digest, by the digest before a conversion, and by the source.
func TestPresence(t *testing.T) {
	t.Parallel()
	d := func(text string) digest.Digest { return digest.FromString(text) }
	p := newPresence([]*plan.Plan{
		{Images: []plan.Image{{Source: "quay.io/org/a@" + string(d("a")), Digest: d("converted"), RewrittenFrom: d("a")}}},
		{Images: []plan.Image{{Source: "docker.io/library/b:v1", Digest: d("b")}, {Source: "dir:///srv/c", Digest: d("c")}}},
	})
	here := []string{"quay.io/org/a@" + string(d("a")), "elsewhere.example.com/a@" + string(d("a")), "docker.io/library/b:v1", "b:v1", "quay.io/x@" + string(d("converted")), "dir:///srv/c"}
	gone := []string{"quay.io/org/a:v1", "quay.io/org/a@" + string(d("other")), "b:v2", "dir:///srv/d", "NOT A REFERENCE"}
	for _, ref := range here {
		if p.of([]string{ref}) != Present {
			t.Errorf("%s is not there", ref)
		}
	}
	for _, ref := range gone {
		if p.of([]string{ref}) != Absent {
			t.Errorf("%s is there", ref)
		}
	}
	if p.of(append(gone, here...)) != Partly || p.of(nil) != Absent {
		t.Error("some are not partly there, or none are there")
	}
	if got := p.ofImages([]*plan.Image{{Digest: d("b")}, {Source: "dir:///srv/c", Digest: d("newer")}, {Digest: d("a")}}); got != Present {
		t.Errorf("the images are there: %s", got)
	}
}

func TestWorse(t *testing.T) {
	t.Parallel()
	order := []airgap.Availability{"", airgap.Available, airgap.InEarlier, airgap.Unavailable}
	for i, a := range order {
		for k, b := range order {
			if got := worse(a, b); got != order[max(i, k)] {
				t.Errorf("of %q and %q, %q is worse", a, b, got)
			}
		}
	}
}
