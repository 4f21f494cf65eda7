package flips

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestState flips bits of the workspace, or of what Gantry itself stores in the mirror, between two runs. The second adds
// and removes images and is followed by a prune. Every second time, it was interrupted before.
func TestState(t *testing.T) {
	t.Parallel()
	total := flipsOf(t, 2, 16, 200)
	for _, inMirror := range []bool{false, true} {
		name := map[bool]string{false: "workspace", true: "records"}[inMirror]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &report{title: name}
			s := newSource(t)
			want := s.mirrorOf(t, "reference", nil)
			for i := range total / 2 {
				m := s.mirrorOf(t, fmt.Sprintf("m%d", i), want)
				if m.begin(i%2 == 1); inMirror {
					m.flipRecord(i, r)
				} else {
					m.flipWorkspace(i, r)
				}
			}
			r.write(t, total/2)
		})
	}
}

// A mirrored is a mirror with its workspace.
type mirrored struct {
	*source
	t         *testing.T
	prefix    string
	workspace string
	want      *content        // after both runs and the prune
	kept      []digest.Digest // manifests that both image sets have
}

// mirrorOf returns a mirror with nothing in it, or, without a reference, the reference itself.
func (s *source) mirrorOf(t *testing.T, prefix string, reference *mirrored) *mirrored {
	t.Helper()
	m := &mirrored{source: s, t: t, prefix: prefix, workspace: filepath.Join(s.Dir, "work-"+prefix)}
	if reference != nil {
		m.want, m.kept = reference.want, reference.kept
		return m
	}
	m.begin(false)
	before, err := s.contentOf(t.Context(), t, prefix)
	fail.On(t, err)
	fail.On(t, errors.Join(m.again(t.Context())...))
	m.want, err = s.contentOf(t.Context(), t, prefix)
	fail.On(t, err)
	had := before.digests()
	for _, r := range m.want.repositories {
		m.kept = append(m.kept, elements.Filter(r.Manifests, func(d digest.Digest) bool { return had[d] })...)
	}
	if len(m.kept) == 0 || before.same(m.want) == nil {
		t.Fatalf("both runs mirror the same, or nothing remains: %d", len(m.kept))
	}
	return m
}

// run mirrors the image set of a month.
func (m *mirrored) run(ctx context.Context, month int) error {
	o := m.MirrorOptions(m.changing[month], m.Docker(m.prefix))
	o.Workspace, o.Name, o.Env = m.workspace, "flips", m.NewEnv()
	o.Env.RetryTimes, o.Env.RetryDelay = 2, time.Millisecond
	_, err := mirroring.Run(ctx, o)
	return err
}

// begin mirrors the first month, and, if it is interrupted, a part of the second.
func (m *mirrored) begin(interrupted bool) {
	m.t.Helper()
	fail.On(m.t, m.run(m.t.Context(), 0))
	if !interrupted {
		return
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	m.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/" + m.prefix + "/org/app/manifests/", Action: mirrortest.WithoutResponse(cancel)})
	if err := m.run(ctx, 1); err == nil {
		m.t.Error("the second run was not interrupted")
	}
	m.Mirror.Script()
}

// again mirrors the second month, deletes what is no longer needed, and verifies what the records promise.
func (m *mirrored) again(ctx context.Context) []error {
	e := m.NewEnv()
	e.RetryTimes, e.RetryDelay = 2, time.Millisecond
	mirrorErr := m.run(ctx, 1)
	_, pruneErr := removal.Prune(ctx, removal.PruneOptions{Env: e, Mirror: m.Docker(m.prefix), Workspace: m.workspace, Yes: true})
	_, verifyErr := verify.Run(ctx, verify.Options{Env: e, Locations: []string{m.Docker(m.prefix)}, Workspace: m.workspace})
	return []error{mirrorErr, pruneErr, verifyErr}
}

// check runs the second month with the damage, undoes the damage, and runs it again.
func (m *mirrored) check(name string, undo func(), p place, r *report) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	said := m.again(ctx)
	wrong := ctx.Err()
	got, err := m.contentOf(ctx, m.t, m.prefix)
	wrong = errors.Join(wrong, err)
	has := got.digests()
	for _, d := range m.kept {
		if !has[d] {
			wrong = errors.Join(wrong, fmt.Errorf("%s is gone, which is needed all the time", d))
		}
	}
	switch {
	case said[0] == nil && said[1] == nil:
		wrong = errors.Join(wrong, m.want.same(got))
	case said[0] == nil:
		for d := range m.want.digests() {
			if !has[d] {
				wrong = errors.Join(wrong, fmt.Errorf("%s is missing after a run without an error", d))
			}
		}
	}
	undo()
	results := []string{outcome(said[0]), outcome(said[1]), outcome(said[2])}
	if slices.Contains(results, "") {
		wrong = errors.Join(wrong, errors.New("an error has neither a kind nor a hint"))
	}
	again := errors.Join(m.again(m.t.Context())...)
	if got, err = m.contentOf(m.t.Context(), m.t, m.prefix); again != nil || err != nil || m.want.same(got) != nil {
		wrong = errors.Join(wrong, fmt.Errorf("without the damage: %w", errors.Join(again, err, m.want.same(got))))
	}
	result := strings.Join(results, ", ")
	if wrong != nil {
		m.t.Errorf("%s: %v (the verbs: %v)", name, wrong, said)
		result = "FAILED"
	}
	m.t.Logf("%s: %s %v", name, result, said)
	r.add(p.name, "mirror, prune, verify", result)
}

// flipWorkspace flips a bit of a file of the workspace.
func (m *mirrored) flipWorkspace(seed int, r *report) {
	m.t.Helper()
	files := readFolders(m.t, m.workspace)
	all := map[string][]place{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		rel, err := filepath.Rel(m.workspace, file)
		fail.On(m.t, err)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		name := strings.Join(parts[:min(len(parts)-1, 2)], "/") + "/*" + filepath.Ext(file)
		if size := int64(len(files[file])); size > 0 {
			for _, name := range []string{name, "anywhere"} {
				all[name] = append(all[name], place{file, name, 0, size})
			}
		}
	}
	p, bit := choose(all, rand.New(rand.NewPCG(2, uint64(seed))))
	text := files[p.file]
	text[bit/8] ^= 1 << (bit % 8)
	fail.On(m.t, os.WriteFile(p.file, text, 0o600))
	undo := func() {
		now, err := os.ReadFile(p.file)
		switch {
		case err == nil && string(now) == string(text):
			text[bit/8] ^= 1 << (bit % 8)
			fail.On(m.t, os.WriteFile(p.file, text, 0o600))
		case err == nil && filepath.Base(p.file) == "SHA256SUMS":
			// Other lines were written again. The message says that the file, or the line, can be removed.
			fail.On(m.t, os.Remove(p.file))
		} // else, what was written since then is right
	}
	m.check(fmt.Sprintf("flip %d: bit %d of %s (%s)", seed, bit, p.file, p.name), undo, p, r)
}

// flipRecord flips a bit of what the registry returns of a record or lease of Gantry.
func (m *mirrored) flipRecord(seed int, r *report) {
	m.t.Helper()
	list, err := m.Mirror.Repositories(m.prefix)
	fail.On(m.t, err)
	all := map[string][]place{}
	for _, repository := range list {
		if mirrortest.IsContent(repository.Name) {
			continue
		}
		short := repository.Name[strings.LastIndex(repository.Name, "gantry"):]
		add := func(name string, d digest.Digest) {
			name = short + " " + name
			all[name] = append(all[name], place{d.String(), name, 0, 1 << 20})
		}
		for _, d := range repository.Blobs {
			add("blobs", d)
		}
		for _, d := range repository.Manifests {
			name := "manifests"
			for tag, of := range repository.Tags {
				if _, ext, ok := strings.Cut(tag, "."); of == d && ok {
					name = "manifests *." + strings.TrimRight(ext, "0123456789abcdef.")
				} else if of == d {
					name = "manifests with a name"
				}
			}
			add(name, d)
		}
	}
	p, bit := choose(all, rand.New(rand.NewPCG(3, uint64(seed))))
	m.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/gantry-", Action: func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, req)
		body := rec.Body.Bytes()
		if digest.FromBytes(body).String() == p.file {
			body[bit/8%int64(len(body))] ^= 1 << (bit % 8)
		}
		maps.Copy(w.Header(), rec.Result().Header)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	}})
	m.check(fmt.Sprintf("flip %d: bit %d of %s (%s)", seed, bit, p.file, p.name), func() { m.Mirror.Script() }, p, r)
}
