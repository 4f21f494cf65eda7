package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// contentOf returns the content of a registry below a prefix, by repository: tags, manifests and blobs.
func (w *fixture) contentOf(prefix string) map[string]registrytest.Repository {
	w.t.Helper()
	all := map[string]registrytest.Repository{}
	for _, r := range contentBelow(w.t, w.mirror, prefix) {
		r.Name = strings.TrimPrefix(r.Name, prefix+"/")
		all[r.Name] = r
	}
	return all
}

// kills returns an action that ends the program with kill. The registry does not see the request.
func kills(kill func()) registrytest.Action {
	return func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		kill()
		registrytest.NoResponse()(rw, r, next)
	}
}

// TestShards copies a plan as four processes with workspaces of their own at the same time. One of them is killed
// while it copies, and when it is almost done. At the end, the registry has the same content as after one run.
func TestShards(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	w.must("plan", "-c", w.path("imageset.yaml"), "--lock", w.path("plan.json"))
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/one"))
	line := func(i int) []string {
		return []string{"mirror", "--plan", w.path("plan.json"), "--shard", fmt.Sprintf("%d/4", i), w.docker("/site"), "--workspace", w.path(fmt.Sprint("workspace", i))}
	}
	finish := []string{"mirror", "--plan", w.path("plan.json"), "--finish", "4", w.docker("/site"), "--workspace", w.path("finish")}
	w.refuse(exitMismatch, []string{"4 shards of the plan are not complete", "shard 3/4 was not run", "--shard 1/4, 2/4, 3/4, 4/4"}, finish...)

	killed, kill := context.WithCancel(t.Context())
	defer kill()
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/site/.*/blobs/uploads/", Nth: 2, Action: kills(kill)})
	if err := w.process(killed, line(2)...).Run(); err == nil {
		t.Fatal("the run was not killed")
	}

	killed, killLater := context.WithCancel(t.Context())
	defer killLater()
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/site/gantry-shards/manifests/.*2-of-4", Action: kills(killLater)})
	var runs []*exec.Cmd
	var outputs [4]bytes.Buffer
	for i := range 4 {
		ctx := t.Context()
		if i == 1 {
			ctx = killed
		}
		cmd := w.process(ctx, line(i+1)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, cmd)
	}
	for i, cmd := range runs {
		if err := cmd.Wait(); (err == nil) != (i != 1) {
			t.Errorf("shard %d ended with %v\n%s", i+1, err, &outputs[i])
		}
	}
	w.mirror.Script()
	if text := outputs[3].String(); !strings.Contains(text, "Shard 4/4 is complete") || !strings.Contains(text, "--finish 4") {
		t.Errorf("shard 4 printed\n%s", text)
	}
	for name := range w.contentOf("site") {
		if name == acme || name == community {
			t.Errorf("shards published the catalog %s", name)
		}
	}
	w.refuse(exitMismatch, []string{"1 shard of the plan is not complete", "shard 2/4 was not run", "run again with --shard 2/4"}, finish...)
	w.mirror.ResetLog()
	if o := w.must(line(2)...); !strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("shard 2 was copied again:\n%s", o.stdout)
	}
	o := w.must(finish...)
	for _, r := range contentLog(w.mirror) {
		if name := r.Repository(); r.Method == http.MethodPut && name != "site/"+acme && name != "site/"+community {
			t.Errorf("the end wrote to %s: %s", name, r.Path)
		}
	}
	if strings.Contains(o.stderr, "was not used for") {
		t.Errorf("hosts have workspaces of their own:\n%s", o.stderr)
	}
	if !strings.Contains(o.stdout, "Cluster resources: ") {
		t.Errorf("the end wrote no cluster resources:\n%s", o.stdout)
	}
	w.verify("site", acme, 4)
	uploads := cmpopts.IgnoreFields(registrytest.Repository{}, "Uploads") // the killed process may leave open ones
	if diff := cmp.Diff(w.contentOf("one"), w.contentOf("site"), uploads); diff != "" {
		t.Errorf("the content of one run (-) differs from four shards (+):\n%s", diff)
	}
	if o := w.must(finish...); !strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("the second end printed\n%s", o.stdout)
	}
	w.must("verify", w.docker("/site"), "--workspace", w.path("elsewhere"))
}

// TestShardsIncomplete checks what the end of shards refuses: a shard with failed images, one of another
// plan, and content that the mirror lost since.
func TestShardsIncomplete(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.must("plan", "-c", w.path("imageset.yaml"), "--lock", w.path("plan.json"))
	shard := func(i int) []string {
		return []string{"mirror", "--plan", w.path("plan.json"), "--shard", fmt.Sprintf("%d/2", i), w.docker("/site")}
	}
	finish := []string{"mirror", "--plan", w.path("plan.json"), "--finish", "2", w.docker("/site")}
	for _, wrong := range [][]string{
		{"--plan", w.path("plan.json"), "--shard", "3/2", w.docker("/site")},
		{"--plan", w.path("plan.json"), "--shard", "1/2", "--finish", "2", w.docker("/site")},
		{"--plan", w.path("plan.json"), "--finish", "-1", w.docker("/site")},
		{"--plan", w.path("plan.json"), "--shard", "1/2", "oci://" + w.path("layout")},
		{"-c", w.path("imageset.yaml"), "--shard", "1/2", w.docker("/site")},
		{"--plan", w.path("plan.json"), "--shard", "1/2", "--on-error", "package", w.docker("/site")},
	} {
		w.refuse(exitUsage, []string{"--"}, append([]string{"mirror"}, wrong...)...)
	}

	second, err := w.readPlan("plan.json").Shard(plan.Shard{Index: 2, Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	image := second.Manifests[slices.IndexFunc(second.Manifests, func(m plan.Manifest) bool { return len(m.Blobs) > 1 })]
	w.must(shard(1)...)
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + image.Blobs[0].String(), Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	w.refuse(exitPartial, []string{"not mirrored; the rest is consistent"}, shard(2)...)
	w.source.Script()
	w.refuse(exitMismatch, []string{"shard 2/2 could not copy "}, finish...)
	w.must(shard(2)...)

	other := w.readPlan("plan.json")
	other.Notes = append(other.Notes, "zz")
	var text bytes.Buffer
	if err := other.Write(&text); err != nil {
		t.Fatal(err)
	}
	w.write("other.json", text.String())
	w.refuse(exitMismatch, []string{"shard 1/2 was run with another plan", "shard 2/2 was run with another plan"}, "mirror", "--plan", w.path("other.json"), "--finish", "2", w.docker("/site"), "--name", other.Name)

	w.mirror.Script(registrytest.Rule{Path: "/site/" + second.Images[0].Repository + "/", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")})
	w.refuse(exitMismatch, []string{"the mirror does not have", "of shard 2/2"}, finish...)
	w.mirror.Script()
	w.must(finish...)
	w.verify("site", acme, 4)
}

// TestShardsAndOthers checks that a run of something else does not begin while a shard is copied, and that the
// end does not either.
func TestShardsAndOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.must("plan", "-c", w.path("imageset.yaml"), "--lock", w.path("plan.json"))
	reached, resume := make(chan struct{}), make(chan struct{})
	signal := once(func() { close(reached) })
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 3, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		signal(rw, r, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			<-resume
			next.ServeHTTP(rw, r)
		}))
	}})
	var stderr bytes.Buffer
	first := w.process(t.Context(), "mirror", "--plan", w.path("plan.json"), "--shard", "1/2", w.docker("/site"), "--workspace", w.path("one"))
	first.Stderr = &stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-t.Context().Done():
		t.Fatal("the shard did not begin to copy")
	}
	w.refuse(exitLocked, []string{"is used by another run", "for shard 1/2 on"}, "mirror", "-c", w.path("imageset.yaml"), w.docker("/site"))
	w.refuse(exitLocked, []string{"for shard 1/2 on"}, "mirror", "--plan", w.path("plan.json"), "--finish", "2", w.docker("/site"))
	w.must("mirror", "--plan", w.path("plan.json"), "--shard", "2/2", w.docker("/site"))
	close(resume)
	var exit *exec.ExitError
	if err := first.Wait(); errors.As(err, &exit) || err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	w.mirror.Script()
	w.must("mirror", "--plan", w.path("plan.json"), "--finish", "2", w.docker("/site"))
}
