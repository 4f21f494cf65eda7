package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// TestShards copies a plan as three processes with workspaces of their own at the same time. One of them is killed when it
// is almost done. At the end, the registry has the same content as after one run. Package mirroring tests what is refused.
func TestShards(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	w.must("plan", "-c", w.path("imageset.yaml"), "--lock", w.path("plan.json"))
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/one"))
	line := func(i int) []string {
		return []string{"mirror", "--plan", w.path("plan.json"), "--shard", fmt.Sprintf("%d/3", i), w.docker("/site"), "--workspace", w.path(fmt.Sprint("workspace", i))}
	}
	finish := []string{"mirror", "--plan", w.path("plan.json"), "--finish", "3", w.docker("/site"), "--workspace", w.path("finish")}
	w.refuse(exitMismatch, []string{"3 shards of the plan are not complete", "shard 3/3 was not run", "--shard 1/3, 2/3, 3/3"}, finish...)

	killed, kill := context.WithCancel(t.Context())
	defer kill()
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/site/gantry-shards/manifests/.*2-of-3", Action: kills(kill)})
	var runs []*exec.Cmd
	var outputs [3]bytes.Buffer
	for i := range outputs {
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
	w.says(outputs[2].String(), "Shard 3/3 is complete", "--finish 3")
	if have := w.contentOf("site"); have[acme].Name != "" || have[community].Name != "" {
		t.Error("shards published a catalog")
	}
	w.refuse(exitMismatch, []string{"1 shard of the plan is not complete", "run again with --shard 2/3"}, finish...)
	w.mirror.ResetLog()
	w.says(w.must(line(2)...).stdout, "Nothing to copy")
	w.says(w.must(finish...).stdout, "Cluster resources: ")
	for _, r := range contentLog(w.mirror) {
		if name := r.Repository(); r.Method == http.MethodPut && name != "site/"+acme && name != "site/"+community {
			t.Errorf("the end wrote to %s: %s", name, r.Path)
		}
	}
	uploads := cmpopts.IgnoreFields(registrytest.Repository{}, "Uploads") // the killed process may leave open ones
	if diff := cmp.Diff(w.contentOf("one"), w.contentOf("site"), uploads); diff != "" {
		t.Errorf("the content of one run (-) differs from three shards (+):\n%s", diff)
	}
	w.says(w.must(finish...).stdout, "Nothing to copy")
	w.must("verify", w.docker("/site"), "--workspace", w.path("elsewhere"))
}
