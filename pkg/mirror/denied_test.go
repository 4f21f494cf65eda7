package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestDenied checks that a refusal for some repositories fails only their images, each with one
// request for all its blobs, and that a refusal for all repositories is the error of the run.
func TestDenied(t *testing.T) {
	m := sample(t)
	for name, tc := range map[string]struct {
		repositories string // the prefix of the repositories that are denied
		calls        string // the calls that are denied
		used         bool   // org/a has a tag
		failed       []string
		asked        int32 // denied requests, with one stream
		err          error
	}{
		"one repository":  {repositories: "org/b", calls: "blob", failed: []string{"org/b"}, asked: 1},
		"two images":      {repositories: "org/a", calls: "blob", failed: []string{"org/a", "org/a"}, asked: 1},
		"its manifests":   {repositories: "org/a", calls: "put manifest", failed: []string{"org/a", "org/a"}, asked: 2},
		"its list":        {repositories: "org/a", calls: "tags", asked: 1},
		"it cannot look":  {repositories: "org/a", calls: "has manifest", used: true, failed: []string{"org/a", "org/a"}, asked: 4},
		"all but another": {repositories: "org/", calls: "blob", failed: []string{"org/a", "org/a", "org/b", "org/multi"}, asked: 3},
		"all": {
			calls: "blob", failed: []string{"cat/index", "org/a", "org/a", "org/b", "org/multi", "other/extra"}, asked: 5, err: remote.ErrDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := newMemoryRegistry()
			if tc.used {
				registry.tags["org/a:old"] = digest.FromString("an old image")
			}
			var asked atomic.Int32
			registry.fail = func(call, repository string, _ digest.Digest) error {
				if !strings.HasPrefix(repository, tc.repositories) || !strings.Contains(call, tc.calls) {
					return nil
				}
				asked.Add(1)
				return &remote.Error{Op: call, Host: "registry.example", Repository: repository, Status: http.StatusForbidden, Err: remote.ErrDenied}
			}
			rep, err := Run(t.Context(), m.plan(), m.source(), registry, Options{Streams: 1})
			if !errors.Is(err, tc.err) {
				t.Errorf("the run ended with %v, want %v", err, tc.err)
			}
			var failed []string
			for _, f := range rep.Failed {
				failed = append(failed, f.Repository)
				if !errors.Is(f.Err, remote.ErrDenied) {
					t.Errorf("%s failed with %v", f.Source, f.Err)
				}
			}
			fail.Diff(t, tc.failed, failed)
			if rep.Copied+len(rep.Failed)+len(rep.Withheld) != rep.Images {
				t.Errorf("%+v does not add up", rep)
			}
			fail.Diff(t, tc.asked, asked.Load())
		})
	}
}

// TestDeniedListIsOfOneRepository checks that a repository that refuses its list of tags does not
// affect the others.
func TestDeniedListIsOfOneRepository(t *testing.T) {
	m, n := newMaker(t), 16
	for _, repository := range []string{"org/a", "org/b", "org/c"} { // with one stream, the third is compared after one of the others
		for i := range n {
			d := m.image(fmt.Sprintf("%s %d", repository, i))
			m.add(repository, plan.DigestTag(d), d)
		}
	}
	registry := newMemoryRegistry()
	mustRun(t, m.plan(), m.source(), registry, Options{})
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(m.plan())
	fail.On(t, err)
	held := NewRecord(m.plan(), names, &Report{}, nil)
	var asked atomic.Int32
	registry.fail = func(call, repository string, _ digest.Digest) error {
		if call == "has manifest" && repository == "org/c" {
			asked.Add(1)
		}
		if call == "tags" && repository != "org/c" {
			return &remote.Error{Op: call, Status: http.StatusForbidden, Err: remote.ErrDenied}
		}
		return nil
	}
	if rep := mustRun(t, m.plan(), m.source(), registry, Options{Streams: 1, KnownTags: NewKnownTags(names, &held)}); !rep.UpToDate() {
		t.Errorf("%+v", rep)
	}
	if int(asked.Load()) > n/sampleEvery {
		t.Errorf("%d images were requested despite the list", asked.Load())
	}
}
