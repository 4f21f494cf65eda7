//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestDestFormatGate checks that a gate is asked about the originals of converted images, which are at the source,
// and that one it refuses is missing.
func TestDestFormatGate(t *testing.T) {
	t.Parallel()
	long(t)
	w, operand := rewriteFixture(t)
	cfg := w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n    targetCatalog: op/catalog\n  additionalImages:\n  - name: images.example.net/tools/app:v1\n")
	asked := w.path("asked")
	scan := w.program("scan.sh", `cat >> `+asked+`
case "$1" in
*/op/operand@sha256:*) test "$GANTRY_PLATFORM" = linux/arm64 && exit 1 || exit 0;;
esac`)
	o := w.gantry("plan", "-c", cfg, "--dest-format", "docker", "--gate", scan)
	if o.code != exitPartial || !strings.Contains(o.stdout, operand) {
		t.Errorf("%d: %s%s", o.code, o.stdout, o.stderr)
	}
	roots := map[digest.Digest]bool{}
	for _, q := range readQuestions(t, asked) {
		ref, err := reference.Parse(q.Reference)
		if err == nil {
			_, err = w.source.Client().Pull(t.Context(), "images.example.net/"+ref.Path, ref.Digest.String())
		}
		if err != nil || ref.Digest != q.Digest || q.Platform == "" {
			t.Errorf("the gate was asked %+v, and the source has no such image: %v", q, err)
		}
		roots[q.Index] = true
	}
	if d := digest.Digest(operand[strings.Index(operand, "@")+1:]); !roots[d] || len(roots) != 3 {
		t.Errorf("indexes: %v", roots)
	}
}
