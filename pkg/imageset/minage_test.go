package imageset_test

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestMinAge(t *testing.T) {
	t.Parallel()
	read := func(age string) (*imageset.Config, error) {
		c, err := imageset.Parse("imageset.yaml", []byte("apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  minAge: "+age+"\n  additionalImages:\n  - name: quay.io/a/b:v1\n"))
		if err == nil {
			err = c.Usable()
		}
		return c, err
	}
	for _, age := range []string{"3d", "2w", "72h"} {
		if c, err := read(age); err != nil || c.Mirror.MinAge != age {
			t.Errorf("%s: %+v, %v", age, c, err)
		}
	}
	for _, age := range []string{"soon", "5h", "0d", "2026-01-31", "-3d"} {
		if _, err := read(age); err == nil || !strings.Contains(err.Error(), "mirror.minAge") {
			t.Errorf("%s: %v", age, err)
		}
	}
}
