package setrecord

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

func readPlan(t *testing.T, m *memory, revision *Revision) string {
	t.Helper()
	r, err := OpenPlan(t.Context(), m, revision)
	fail.On(t, err)
	all, err := io.ReadAll(r)
	fail.On(t, err)
	return string(all)
}

func TestWriteAndRead(t *testing.T) {
	m := newMemory()
	first := write(t, m, "one", nil, record("a"), "plan 1")
	same := write(t, m, "one", first, record("a"), "plan 1")
	if same.Number != 1 || same.Runs != 2 || same.Since != first.Since || same.LastRun.Equal(first.LastRun) || same.Previous != first.Manifest {
		t.Errorf("a run with nothing new: %+v after %+v", same, first)
	}
	second := write(t, m, "one", same, record("a", "b"), "plan 2")
	if second.Number != 2 || second.Runs != 3 {
		t.Errorf("a run with new content: %+v", second)
	}
	other := write(t, m, "two words", nil, record("c"), "plan 3")
	current, err := Current(t.Context(), m)
	fail.On(t, err)
	fail.Diff(t, []Revision{*second, *other}, current)
	sets, err := List(t.Context(), m)
	if err != nil || len(sets) != 2 {
		t.Fatal(sets, err)
	}
	if !sets[0].Has(second) || sets[0].Has(first) || sets[0].Has(other) {
		t.Errorf("the list %+v does not have just the newest revision", sets[0])
	}
	history, err := History(t.Context(), m, &sets[0])
	fail.On(t, err)
	fail.Diff(t, []Revision{*first, *second}, history)
	for i, want := range []string{"plan 1", "plan 2"} {
		fail.Diff(t, want, readPlan(t, m, &history[i]))
	}
	// The same record by another name of the mirror.
	m.host, m.prefix = "other.example.com", "x/y"
	got, err := ReadRecord(t.Context(), m, second)
	fail.On(t, err)
	want := record("a", "b")
	want.Runs = 3
	fail.On(t, want.Rehost("mirror.example.com:5000", "ocp", m.host, m.prefix))
	fail.Diff(t, want, got, cmpopts.EquateEmpty())
}

// TestDockerForm checks that records are read in the form for registries that refuse OCI artifacts.
func TestDockerForm(t *testing.T) {
	m := newMemory()
	m.docker = true
	first := write(t, m, "one", nil, record("a"), "plan 1")
	second := write(t, m, "one", first, record("a", "b"), "plan 2")
	current, err := Current(t.Context(), m)
	fail.On(t, err)
	fail.Diff(t, []Revision{*second}, current)
	if got := readPlan(t, m, &current[0]); got != "plan 2" || current[0].Previous != first.Manifest || digest.FromBytes(m.tags["one"]) != second.Manifest {
		t.Errorf("%q, %+v", got, current[0])
	}
}

func TestNothingNewIsOneRequest(t *testing.T) {
	m := newMemory()
	first := write(t, m, "one", nil, record("a"), "plan")
	m.requests = 0
	write(t, m, "one", first, record("a"), "plan")
	fail.Diff(t, 1, m.requests)
}

func TestLostLayersAreWrittenAgain(t *testing.T) {
	m := newMemory()
	first := write(t, m, "one", nil, record("a"), "plan")
	clear(m.blobs)
	again := write(t, m, "one", first, record("a"), "plan")
	if again.Number != 1 || again.Tag() != first.Tag() {
		t.Errorf("the revision is %s, want %s", again.Tag(), first.Tag())
	}
	fail.Diff(t, "plan", readPlan(t, m, again))
}

// TestParseRevision reads the JSON of this version and of one that had only the key turn.
func TestParseRevision(t *testing.T) {
	m := newMemory()
	second := write(t, m, "one", write(t, m, "one", nil, record("a"), "plan 1"), record("a"), "plan 2")
	text, err := json.Marshal(second)
	if err != nil || !bytes.Contains(text, []byte(`"revision":2,"runs":2,"turn":2,`)) {
		t.Fatalf("%s, %v", text, err)
	}
	for _, text := range []string{string(text), strings.Replace(string(text), `"revision":2,`, "", 1)} {
		if got, err := ParseRevision([]byte(text)); err != nil || cmp.Diff(second, got) != "" {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(second, got))
		}
	}
	if got, err := ParseRevision([]byte(`[]`)); err == nil {
		t.Errorf("%+v", got)
	}
}

// A run that was killed after it began a revision has begun it.
func TestNewestRevisionApplies(t *testing.T) {
	m := newMemory()
	first := write(t, m, "one", nil, record("a"), "plan 1")
	old := m.tags["one"]
	second := write(t, m, "one", first, record("a"), "plan 2")
	for _, left := range []bool{true, false} {
		if delete(m.tags, "one"); left {
			m.tags["one"] = old
		}
		current, err := Current(t.Context(), m)
		if err != nil || len(current) != 1 || current[0].Number != second.Number {
			t.Errorf("with the tag left: %v: %+v, %v", left, current, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, change := range map[string]func(m *memory){
		"another type":    func(m *memory) { m.tags["one"] = replace(m.tags["one"], Type, "x/y") },
		"another name":    func(m *memory) { m.tags["one"] = replace(m.tags["one"], `"one"`, `"two"`) },
		"negative number": func(m *memory) { m.tags["one"] = replace(m.tags["one"], `set.turn":"1"`, `set.turn":"-1"`) },
		"invisible text":  func(m *memory) { m.tags["one"] = replace(m.tags["one"], `"user"`, `"u\u001b[1m"`) },
		"not JSON":        func(m *memory) { m.tags["one"] = []byte("{") },
		"a wrong revision": func(m *memory) {
			delete(m.tags, "one")
			m.tags["one.t2.0123456789ab"] = slices.Collect(maps.Values(m.tags))[0]
		},
	} {
		m := newMemory()
		write(t, m, "one", nil, record("a"), "plan")
		write(t, m, "other", nil, record("a"), "plan")
		change(m)
		current, err := Current(t.Context(), m)
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
		if name != "a wrong revision" && (len(current) != 1 || current[0].Name != "other") {
			t.Errorf("%s: the other image set was not read: %v", name, current)
		}
	}
}

func replace(text []byte, old, now string) []byte {
	return []byte(strings.ReplaceAll(string(text), old, now))
}

func TestReadRecordRefuses(t *testing.T) {
	valid := record("a")
	for name, change := range map[string]func(r *state.Record){
		"another registry": func(r *state.Record) { r.Images[0].Mirror.Host = "evil.example.com" },
		"no tag":           func(r *state.Record) { r.Catalogs[0].Mirror.Tag, r.Catalogs[0].Mirror.Digest = "", "" },
		"kind":             func(r *state.Record) { r.Images[0].Kind = "other" },
		"no source":        func(r *state.Record) { r.Images[0].Source.Path = "" },
		"path":             func(r *state.Record) { r.Images[0].Mirror.Path = "ocp/../x" },
		"digest":           func(r *state.Record) { r.Releases[0].Mirror.Digest = "sha256:1" },
		"no version":       func(r *state.Record) { r.Releases[0].Version = "" },
		"graph":            func(r *state.Record) { r.GraphData.Host = "evil.example.com" },
		"name":             func(r *state.Record) { r.Names[0].Name = "a\nb" },
		"operator": func(r *state.Record) {
			r.Clusters = &state.Clusters{Operators: []state.ClusterOperator{{Package: "a"}}}
		},
		"OLM": func(r *state.Record) {
			r.Clusters = &state.Clusters{Operators: []state.ClusterOperator{{Package: "a", Bundle: "b", OLM: "v2"}}}
		},
		"release": func(r *state.Record) {
			r.Clusters = &state.Clusters{Releases: []state.ClusterRelease{{Version: "4.20.1", Channel: "a\x1b"}}}
		},
	} {
		n, err := neutral(valid, "mirror.example.com:5000", "ocp")
		fail.On(t, err)
		graph := *n.GraphData
		n.GraphData = &graph
		change(n)
		var b strings.Builder
		fail.On(t, n.Write(&b))
		if _, err := readRecord(strings.NewReader(b.String()), "h", ""); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	for _, s := range []string{``, `[]`, `{"images": 1}`, `{"images": [{}]}`, `{"images": [`, `{} {}`, `{`} {
		if _, err := readRecord(strings.NewReader(s), "h", ""); err == nil {
			t.Errorf("%q was read", s)
		}
	}
}

func TestTextLimits(t *testing.T) {
	m := newMemory()
	revision := write(t, m, "one", nil, record("a"), "plan")
	wrong := *revision
	wrong.Plan = digest.FromString("another plan")
	r, err := OpenPlan(t.Context(), m, &wrong)
	fail.On(t, err)
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a plan with another digest was read")
	}
	if r, err = OpenPlan(t.Context(), m, revision); err != nil {
		t.Fatal(err)
	}
	r.(*textReader).left = 3
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a plan above the limit was read")
	}
	wrong.PlanLayer.Digest = digest.FromString("missing")
	if _, err := OpenPlan(t.Context(), m, &wrong); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing layer: %v", err)
	}
}

func TestTag(t *testing.T) {
	long := strings.Repeat("n", 200)
	for name, want := range map[string]string{
		"imageset-config": "imageset-config", "a.b_c": "a.b_c", "two words": "two_words-", "-x": "_-x-", "ü": "_-",
		"one.t2.0123456789ab":               "one_t2_0123456789ab-",
		"sha256-" + strings.Repeat("0", 64): "sha256-" + strings.Repeat("0", 64) + "-",
		long:                                strings.Repeat("n", 90),
	} {
		got := Tag(name)
		if !strings.HasPrefix(got, want) || (got == name) != (want == name) {
			t.Errorf("Tag(%q) is %q, want it to begin with %q", name, got, want)
		}
		revision := Revision{Name: name, Number: maxNumber}
		if parsed, ok := parseRevisionTag(revision.Tag()); !ok || parsed.set != got || len(revision.Tag()) > maxTag {
			t.Errorf("the tag of a revision of %q is %q", name, revision.Tag())
		}
	}
	if got := listTags([]string{"sha256-" + strings.Repeat("0", 64) + ".sig", "sha256-" + strings.Repeat("0", 64)}); len(got) != 0 {
		t.Errorf("tags of signatures are image sets: %v", got)
	}
}
