package imageset

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestStarter(t *testing.T) {
	t.Parallel()
	c, err := Parse("starter.yaml", Starter("4.18"))
	fail.On(t, err)
	if c.Mirror.Platform.Channels[0].Name != "stable-4.18" || !strings.HasSuffix(c.Mirror.Operators[0].Catalog, ":v4.18") || len(c.Mirror.AdditionalImages) != 1 {
		t.Errorf("the configuration is %+v", c.Mirror)
	}
}
