package resources

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// many returns n images that each need their own source.
func many(t testing.TB, n int) []Image {
	var images []Image
	for i := range n {
		images = append(images, img(t, fmt.Sprintf("quay.io/org-%d/a#%d -> mirror.local:5000/prefix/org-%d/a#%d", i, i, i, i)))
	}
	return images
}

func TestSplit(t *testing.T) {
	const limit = 4000
	images := many(t, 200)
	files, notes, err := Build(images, nil, Options{MaxBytes: limit})
	fail.On(t, err)
	checkPulls(t, images, files, notes)
	whole, _, err := Build(images, nil, Options{})
	fail.On(t, err)
	if len(whole) != 1 || whole[0].Name != "idms-operator-0.yaml" {
		t.Errorf("200 sources need %d sets of the default size, want idms-operator-0 alone", len(whole))
	}
	if least := len(whole[0].Text) / limit; len(files) < least || len(files) > 3*least {
		t.Errorf("%d sets of %d bytes for %d bytes", len(files), limit, len(whole[0].Text))
	}
	for _, f := range files {
		if len(f.Text) > limit {
			t.Errorf("%s has %d bytes, the limit is %d", f.Name, len(f.Text), limit)
		}
		if want := "  name: " + strings.TrimSuffix(f.Name, ".yaml") + "\n"; !bytes.Contains(f.Text, []byte(want)) {
			t.Errorf("%s does not have the line %q", f.Name, want)
		}
	}
}

// TestSplitIsStable adds images one by one and counts the sets that change.
func TestSplitIsStable(t *testing.T) {
	all := many(t, 240)
	text := func(n int) map[string]string {
		files, _, err := Build(all[:n], nil, Options{MaxBytes: 4000})
		fail.On(t, err)
		m := map[string]string{}
		for _, f := range files {
			m[f.Name] = string(f.Text)
		}
		return m
	}
	before := text(200)
	splits := 0
	for n := 201; n <= len(all); n++ {
		after := text(n)
		changed := 0
		for name := range before {
			if after[name] == "" {
				t.Errorf("%d images: %s is gone", n, name)
			} else if after[name] != before[name] {
				changed++
			}
		}
		splits += len(after) - len(before)
		if changed > 1 {
			t.Errorf("%d images: %d sets changed, want 1", n, changed)
		}
		before = after
	}
	if splits == 0 {
		t.Error("no set overflowed; the test shows nothing")
	}
}

func TestSplitTooSmall(t *testing.T) {
	_, _, err := Build(many(t, 2), nil, Options{MaxBytes: 100})
	if err == nil || !strings.Contains(err.Error(), "the limit is 100") || !strings.Contains(err.Error(), "quay.io/org-") {
		t.Errorf("error is %v, want one that names the source and the limit", err)
	}
}

// TestLastAppliedFits checks the assumption behind the default limit: the JSON that kubectl stores
// in an annotation is not longer than the YAML.
func TestLastAppliedFits(t *testing.T) {
	files, _, err := Build(many(t, 5000), nil, Options{MirrorSourcePolicy: neverContactSource})
	fail.On(t, err)
	if len(files) < 2 {
		t.Fatalf("%d files; the test needs an overflow", len(files))
	}
	var longest int
	for _, f := range files {
		longest = max(longest, len(jsonOf(t, f.Text)))
	}
	if longest > 250_000 {
		t.Errorf("a set has %d bytes as JSON", longest)
	}
	if longest < 100_000 {
		t.Errorf("the longest set has only %d bytes as JSON", longest)
	}
}
