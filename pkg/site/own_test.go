package site

import "testing"

func TestIsOwn(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"gantry/image-sets": true, "gantry-lease": true, "ocp/gantry-image-sets": true, "a/b/gantry-lease": true,
		"image-sets": false, "ocp/lease": false, "ocp/gantry-other": false, "gantry/lease/x": false, "ocp/my-gantry-lease": false,
	} {
		if got := IsOwn(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
