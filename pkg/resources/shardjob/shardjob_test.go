package shardjob

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func example() Options {
	return Options{
		Name: "ocp", Digest: "sha256:1e1c4dcc67c8c1b2bb0fd1b9c6f5bd4a6dffb6d4ccb0e6f0fb4dbd7f6d7a9a11", Plan: []byte("compressed"), Shards: 4,
		Image: "registry.example.com/tools/gantry:v1", Arguments: []string{"--max-nested-paths=2"}, Destination: "docker://mirror.example.com:5000/ocp",
	}
}

// TestYAML compares the objects with files, which .ci/tools/deploycheck decodes into the types of Kubernetes. Set
// GANTRY_TEST_UPDATE_SCRIPTS to write them again.
func TestYAML(t *testing.T) {
	t.Parallel()
	onVolume := example()
	onVolume.Plan, onVolume.PlanClaim = nil, "plans"
	for name, o := range map[string]Options{"configmap.yaml": example(), "volume.yaml": onVolume} {
		got, err := YAML(o)
		fail.On(t, err)
		file := filepath.Join("testdata", name)
		if os.Getenv("GANTRY_TEST_UPDATE_SCRIPTS") != "" {
			fail.On(t, os.WriteFile(file, got, 0o600))
		}
		want, err := os.ReadFile(file)
		fail.On(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// objectNames returns KIND/NAME of the objects.
func objectNames(t *testing.T, o Options) (all []string) {
	t.Helper()
	text, err := YAML(o)
	fail.On(t, err)
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if d.Decode(&object) != nil {
			return all
		}
		all = append(all, object.Kind+"/"+object.Metadata.Name)
	}
}

// TestNames checks that Jobs, which cannot be changed, get another name for each change, and that names are
// short enough for the host names of pods.
func TestNames(t *testing.T) {
	t.Parallel()
	first := objectNames(t, example())
	for name, change := range map[string]func(o *Options){
		"digest": func(o *Options) { o.Digest = "sha256:other" }, "image": func(o *Options) { o.Image += "2" }, "shards": func(o *Options) { o.Shards = 5 },
		"destination": func(o *Options) { o.Destination += "2" }, "arguments": func(o *Options) { o.Arguments = nil }, "claim": func(o *Options) { o.PlanClaim = "plans" },
	} {
		o := example()
		change(&o)
		second := objectNames(t, o)
		if diff := cmp.Diff(first[:2], second[:2]); diff != "" {
			t.Errorf("%s: account or workspace differ: %s", name, diff)
		}
		if first[len(first)-1] == second[len(second)-1] || first[len(first)-2] == second[len(second)-2] {
			t.Errorf("%s: the names of Jobs are the same: %q", name, second)
		}
	}
	long := example()
	long.Name = strings.Repeat("Cluster_é", 50)
	for _, name := range objectNames(t, long) {
		if _, name, _ = strings.Cut(name, "/"); len(name)+len("-999") > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("the name %s", name)
		}
	}
}
