package mirroring

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

func TestOtherContents(t *testing.T) {
	t.Parallel()
	f := plan.File{Name: "oc", SHA256: digest.FromString("x")}
	own := f.Artifact().Tags()
	tags := []string{"oc", own[1], "oc-0123456789ab", "oc-mirror", "oc-mirror-0123456789ab", "oc-0123456789abc", "oc-0123456789xy", "a-0123456789ab"}
	fail.Diff(t, []string{"oc@sha256:0123456789ab"}, otherContents(f, tags))
}
