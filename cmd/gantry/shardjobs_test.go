package main

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestKubernetesJob checks the flags, and that the printed Jobs run command lines that the program has. Package shardjob
// tests the Jobs, package mirroring the shards.
func TestKubernetesJob(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	line := []string{"plan", "-c", w.config("small.yaml", storeOnly), "--lock", w.path("plan.json"), "--kubernetes-job", "2", "--kubernetes-image", "registry.example.com/gantry:v1", w.docker("/site")}
	o := w.must(line...)
	if again := w.must(line...); again.stdout != o.stdout || len(w.mirror.Log()) > 0 {
		t.Errorf("the second run printed other objects, or there were %d requests to a registry that may be reachable from pods alone", len(w.mirror.Log()))
	}
	var commands [][]string
	for d := yaml.NewDecoder(strings.NewReader(o.stdout)); ; {
		var job struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		if d.Decode(&job) != nil {
			break
		}
		if job.Kind == "Job" {
			commands = append(commands, job.Spec.Template.Spec.Containers[0].Args)
		}
	}
	if len(commands) != 2 {
		t.Fatalf("%d Jobs:\n%s", len(commands), o.stdout)
	}
	for _, args := range commands {
		for i := range args { // Kubernetes sets the index
			args[i] = strings.Replace(args[i], "--shard=job/", "--shard=1/", 1)
		}
		if err := parses(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	w.refuse(exitUsage, []string{"JOB_COMPLETION_INDEX, which is not set"}, "mirror", "--plan", w.path("plan.json"), "--shard", "job/2", w.docker("/site"))
}
