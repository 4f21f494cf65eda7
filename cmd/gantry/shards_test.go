package main

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// kills returns an action that ends the program with kill. The registry does not see the request.
func kills(kill func()) registrytest.Action {
	return func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		kill()
		registrytest.NoResponse()(rw, r, next)
	}
}

// TestShards checks the flags and the texts. Package mirroring tests what shards copy, and what their end refuses.
func TestShards(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.must("plan", "-c", w.config("small.yaml", storeOnly), "--lock", w.path("plan.json"))
	run := func(args ...string) []string {
		return append([]string{"mirror", "--plan", w.path("plan.json"), w.docker("/site")}, args...)
	}
	w.refuse(exitMismatch, []string{"2 shards of the plan are not complete", "shard 2/2 was not run", "--shard 1/2, 2/2"}, run("--finish", "2")...)
	w.says(w.must(run("--shard", "1/2")...).stdout, "Shard 1/2 is complete", "--finish 2")
	w.refuse(exitMismatch, []string{"1 shard of the plan is not complete", "run again with --shard 2/2"}, run("--finish", "2")...)
	w.must(run("--shard", "2/2")...)
	w.says(w.must(run("--finish", "2")...).stdout, "Cluster resources: ")
	w.refuse(exitUsage, []string{"--shard"}, run("--shard", "3/2")...)
	w.refuse(exitUsage, []string{"--finish"}, run("--shard", "1/2", "--finish", "2")...)
	w.refuse(exitUsage, []string{"--shard"}, "mirror", "-c", w.path("small.yaml"), "--shard", "1/2", w.docker("/site"))
}
