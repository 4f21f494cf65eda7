//go:build unix

package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestShardsOfAllKinds copies a plan with every kind of content, with a signature policy and a gate, as four shards
// and in one run, and compares what the registry has: tags, manifests, blobs, and the records that both leave.
func TestShardsOfAllKinds(t *testing.T) {
	t.Parallel()
	long(t)
	renderer, err := os.Executable() // TestMain has a renderer
	if err != nil {
		t.Fatal(err)
	}
	w := newSmallFixture(t)
	charts := httptest.NewServer(chartRepository())
	t.Cleanup(charts.Close)
	for _, name := range []string{"app", "tool", "netcheck"} {
		content, err := registrytest.AttestedIndex(name)
		if err != nil {
			t.Fatal(err)
		}
		w.fixture.push("images.example.net/tools/"+name+":1.4", content)
	}
	conf := w.read("registries.conf") + "\n[[registry]]\nprefix = \"images.example.net\"\nlocation = \"" + w.source.Host + "/images.example.net\"\ninsecure = true\n"
	w.env["CONTAINERS_REGISTRIES_CONF"] = w.write("more.conf", conf)
	isc := w.config("imageset.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20, from: [4.18.1]}]\n"+
		"  additionalImages:\n  - name: images.example.net/tools/app:1.4\n    platforms: [{os: linux, architecture: amd64}]\n    platformsMode: rewrite\n  - name: images.example.net/tools/tool:1.4\n"+
		"  files:\n  - path: "+w.write("install.sh", "#!/bin/sh\n")+"\n"+
		"  helm:\n    repositories:\n    - url: "+charts.URL+"\n      charts: [{name: podinfo, version: 5.0.0}]\n")
	plan := []string{"--plan", w.path("plan.json")}
	policy := w.write("policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`)
	gate := w.program("gate.sh", `case "$1" in */tools/tool@sha256:*) echo no; exit 1;; esac`)
	w.must("plan", "-c", isc, "--lock", w.path("plan.json"), "--helm-renderer", renderer)
	options := []string{"--policy", policy, "--gate", gate}
	run := func(prefix, workspace string, args ...string) outcome {
		t.Helper()
		line := append(append(append([]string{"mirror", w.docker("/" + prefix), "--workspace", w.path(workspace)}, plan...), options...), args...)
		return w.gantry(line...)
	}
	if o := run("one", "one"); o.code != exitPartial {
		t.Fatalf("one run ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for i := 1; i <= 4; i++ {
		if o := run("site", fmt.Sprint("shard", i), "--shard", fmt.Sprintf("%d/4", i)); o.code != exitOK && o.code != exitPartial {
			t.Fatalf("shard %d ended with %d\n%s%s", i, o.code, o.stdout, o.stderr)
		}
	}
	if o := run("site", "finish", "--finish", "4"); o.code != exitPartial {
		t.Fatalf("the end ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	one, site := w.contentOf("one"), w.contentOf("site")
	if diff := cmp.Diff(one, site); diff != "" {
		t.Errorf("the content of one run (-) differs from four shards (+):\n%s", diff)
	}
	for _, name := range []string{releaseRepository, componentRepository, graphRepository, "tools/app", "tools/netcheck", "gantry/files", "charts/podinfo"} {
		if _, ok := one[name]; !ok {
			t.Errorf("the mirror has no %s: %q", name, keysOfContent(one))
		}
	}
	if _, ok := site["tools/tool"]; ok {
		t.Error("the mirror has an image that the gate refused")
	}
}

func keysOfContent(all map[string]registrytest.Repository) (names []string) {
	for name := range all {
		names = append(names, name)
	}
	return names
}
