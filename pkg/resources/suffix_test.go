package resources

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func TestSuffix(t *testing.T) {
	for suffix, valid := range map[string]bool{
		"a": true, "site-b2": true, "1": true, "": false, "-a": false, "a-": false, "A": false, "a.b": false, "ä": false,
		strings.Repeat("x", maxSuffix): true, strings.Repeat("x", maxSuffix+1): false,
	} {
		if err := CheckSuffix(suffix); (err == nil) != valid {
			t.Errorf("%q: %v", suffix, err)
		}
	}
	var taken []string
	for _, name := range []string{"imageset", "Image.Set_", "image-set", "image_set", "", "日本", strings.Repeat("long", 20), strings.Repeat("long", 21)} {
		suffix := NewSuffix(name, taken)
		if err := CheckSuffix(suffix); err != nil || NewSuffix(name, taken) != suffix {
			t.Errorf("%q gets the suffix %q, %v", name, suffix, err)
		}
		for _, other := range taken {
			if other == suffix {
				t.Errorf("%q gets the suffix %q of another one", name, suffix)
			}
		}
		taken = append(taken, suffix)
	}
	if taken[0] != "imageset" || taken[1] != "image-set" {
		t.Errorf("suffixes are %q", taken)
	}
}

// TestObjectsWithSuffix checks that no mirror set or UpdateService has the name of one with another
// suffix, and that the suffix is found in the names.
func TestObjectsWithSuffix(t *testing.T) {
	images, _ := example(t)
	seen := map[ObjectName]string{}
	platform := Platform{
		Releases:  reference.Reference{Host: "m.local", Path: "releases"},
		GraphData: ref(t, "m.local/graph:latest#g"),
	}
	for _, suffix := range []string{"", "oc-mirror", "site", "0", strings.Repeat("x", maxSuffix), strings.Repeat("x", maxSuffix-1) + "y"} {
		files, _, err := Build(images, nil, Options{Suffix: suffix, MaxBytes: 300})
		fail.On(t, err)
		platform.Suffix = suffix
		more, err := BuildPlatform(platform)
		if err != nil || len(more) != 1 {
			t.Fatal(more, err)
		}
		objects := ObjectNames(append(files, more...))
		if got, known := SuffixOf(objects); got != suffix || !known {
			t.Errorf("the suffix of %v is %q, want %q", objects, got, suffix)
		}
		for _, o := range objects {
			if other, twice := seen[o]; twice {
				t.Errorf("%s has the suffixes %q and %q", o, other, suffix)
			}
			seen[o] = suffix
			if o.Kind == "UpdateService" && len(o.Name) > maxServiceName {
				t.Errorf("%s: the name has %d characters", o, len(o.Name))
			}
		}
	}
}
