package copying

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Uploads whose locations are unknown, because a run was killed before the registry responded, are
// reported once.
func TestLostUploadsAreReported(t *testing.T) {
	dir := t.TempDir()
	var w *state.Workspace
	list := func() *state.Uploads {
		var err error
		if w, err = state.Open(dir); err != nil {
			t.Fatal(err)
		}
		u, err := w.Uploads("mirror")
		fail.On(t, err)
		return u
	}
	killed := list()
	killed.Requested("mirror.example.com/a", digest.FromString("blob"))
	fail.On(t, w.Close())
	var said []string
	e := &env.Env{Notice: func(text string) { said = append(said, text) }}
	next := list()
	cancelUploads(t.Context(), e, nil, next)
	if len(said) != 1 || !strings.HasPrefix(said[0], "up to 1 uploads may stay open in mirror.example.com/a: ") {
		t.Errorf("%q", said)
	}
	fail.On(t, errors.Join(next.Close(), w.Close()))
	cancelUploads(t.Context(), e, nil, list())
	if len(said) != 1 {
		t.Errorf("again: %q", said)
	}
	fail.On(t, w.Close())
}
