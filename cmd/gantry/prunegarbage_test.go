package main

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestGarbageAfterKeepLast checks what the registry has after prune --keep-last and garbage collection: what is wanted, content of other
// clients, and the earlier state. With --delete-untagged, an image of that state is lost if its tag names a newer one by now.
func TestGarbageAfterKeepLast(t *testing.T) {
	t.Parallel()
	long(t)
	w, want := manyImages(t, rt.Options{Alone: true})
	push := func(to *rt.Server, repository, tag, content string) digest.Digest {
		t.Helper()
		img, err := rt.Index(content)
		if err != nil {
			t.Fatal(err)
		}
		d, err := to.Client().Push(t.Context(), repository, tag, img)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for n := 4; n >= 3; n-- {
		w.must("mirror", "-c", want(n), w.docker("/m"))
	}
	replaced := get(t, w.mirror, "m/org/app00", "v1").digest
	push(w.source, "org/app00", "v1", "a newer image")
	w.must("mirror", "-c", want(2), w.docker("/m"))
	foreign := push(w.mirror, "m/org/app03", "site", "of another client")
	check := func(after string, state map[string]bool) {
		t.Helper()
		w.must("verify", "--deep", w.docker("/m"))
		state["app03@"+foreign.String()], state["app03:site"] = true, true
		for name, present := range state {
			repository, reference, ok := strings.Cut(name, "@")
			if !ok {
				repository, reference, _ = strings.Cut(name, ":")
			}
			if _, err := w.mirror.Client().Pull(t.Context(), "m/org/"+repository, reference); (err == nil) != present {
				t.Errorf("after %s: %s: %v, want %t", after, name, err, present)
			}
		}
	}
	collect := func(untagged bool) {
		t.Helper()
		if err := w.mirror.CollectGarbage(t.Context(), untagged); err != nil {
			t.Fatal(err)
		}
	}
	w.must("prune", "--yes", "--keep-last", "2", w.docker("/m"))
	kept := map[string]bool{"app02:v1": true, "app03:v1": false, "app00@" + replaced.String(): true}
	check("prune --keep-last 2", kept)
	collect(false)
	check("garbage collection", kept)
	collect(true)
	kept["app00@"+replaced.String()] = false
	check("garbage collection with --delete-untagged", kept)
	w.must("prune", "--yes", w.docker("/m"))
	if o := w.must("prune", w.docker("/m")); !strings.HasPrefix(o.stdout, "Nothing to delete") {
		t.Errorf("%s", o.stdout)
	}
	collect(true)
	check("prune", map[string]bool{"app02:v1": false, "app00:v1": true, "app01:v1": true})
}
