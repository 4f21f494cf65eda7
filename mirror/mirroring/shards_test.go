package mirroring_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestShards checks what the end of shards refuses: a shard that is copied, one with failed images, one of another plan, and
// content that the mirror lost since. A run of something else does not begin while a shard is copied. At the end, the
// registry has the same content as after one run.
func TestShards(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	file, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	run := func(file, workspace string, change func(*mirroring.Options)) error {
		o := s.MirrorOptions("", s.Docker("site"))
		o.Env, o.Workspace = s.NewEnv(), s.Path(workspace)
		mirrortest.FromPlan(file)(&o)
		change(&o)
		_, err := mirroring.Run(t.Context(), o)
		return err
	}
	shard := func(i int) error {
		return run(file, "workspace", func(o *mirroring.Options) { o.Shard = plan.Shard{Index: i, Count: 2} })
	}
	finish := func(o *mirroring.Options) { o.Finish = 2 }
	second, err := p.Shard(plan.Shard{Index: 2, Count: 2})
	fail.On(t, err)

	reached, resume, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 3, Action: mirrortest.Once(func() { close(reached); <-resume })})
	go func() { first <- shard(1) }()
	select {
	case <-reached:
	case err := <-first:
		t.Fatalf("the shard ended before it copied: %v", err)
	}
	mirrortest.Refused(t, run(file, "other", func(o *mirroring.Options) { o.Plan, o.Config = "", s.Path("imageset.yaml") }), advice.Locked, "is used by another run", "for shard 1/2 on")
	mirrortest.Refused(t, run(file, "other", finish), advice.Locked, "for shard 1/2 on")
	close(resume)
	fail.On(t, <-first)
	s.Mirror.Script()

	image := second.Manifests[slices.IndexFunc(second.Manifests, func(m plan.Manifest) bool { return len(m.Blobs) > 1 })]
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + image.Blobs[0].String(), Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	mirrortest.Refused(t, shard(2), advice.Partial, "not mirrored; the rest is consistent")
	s.Source.Script()
	mirrortest.Refused(t, run(file, "finish", finish), advice.Mismatch, "shard 2/2 could not copy ")
	fail.On(t, shard(2))
	if s.Has("site", mirrortest.Acme) {
		t.Error("shards published a catalog")
	}

	other := *p
	other.Notes = append(slices.Clone(p.Notes), "zz")
	var text strings.Builder
	fail.On(t, other.Write(&text))
	mirrortest.Refused(t, run(s.Write("other.json", text.String()), "finish", func(o *mirroring.Options) { o.Finish, o.Name = 2, p.Name }), advice.Mismatch,
		"shard 1/2 was run with another plan", "shard 2/2 was run with another plan")
	s.Mirror.Script(registrytest.Rule{Path: "/site/" + second.Images[0].Repository + "/", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")})
	mirrortest.Refused(t, run(file, "finish", finish), advice.Mismatch, "the mirror does not have", "of shard 2/2")
	s.Mirror.Script()
	fail.On(t, run(file, "finish", finish))
	s.Mirrored("", s.Docker("one"), mirrortest.FromPlan(file))
	content := func(prefix string) map[string]registrytest.Repository {
		all := map[string]registrytest.Repository{}
		for _, r := range mirrortest.ContentBelow(t, s.Mirror, prefix) {
			r.Name = strings.TrimPrefix(r.Name, prefix+"/")
			all[r.Name] = r
		}
		return all
	}
	fail.Diff(t, content("one"), content("site"))
}
