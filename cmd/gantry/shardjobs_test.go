package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A jobObject has the fields of the printed objects that tests read.
type jobObject struct {
	Kind       string
	BinaryData map[string]string `yaml:"binaryData"`
	Spec       struct {
		Completions int
		Template    struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
}

// printedJobs returns the files of the ConfigMap that gantry plan --kubernetes-job printed, and the Jobs.
func printedJobs(t *testing.T, text string) (files map[string]string, jobs []jobObject) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o jobObject
		if d.Decode(&o) != nil {
			return files, jobs
		}
		switch o.Kind {
		case "Job":
			jobs = append(jobs, o)
		case "ConfigMap":
			files = o.BinaryData
		}
	}
}

// configMapVolume writes files as they are in a pod: as symbolic links into a folder that can be replaced.
func (w *fixture) configMapVolume(name string, files map[string]string) string {
	w.t.Helper()
	dir := w.path(name)
	if err := os.MkdirAll(filepath.Join(dir, "..2026"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink("..2026", filepath.Join(dir, "..data")); err != nil {
		w.t.Fatal(err)
	}
	for file, encoded := range files {
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "..2026", file), text, 0o600)
		}
		if err == nil {
			err = os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return dir
}

// TestKubernetesJob runs the command lines of the printed Jobs, with the printed plan, as pods would. At the
// end, the registry has the same content as after one run.
func TestKubernetesJob(t *testing.T) {
	t.Parallel()
	long(t) // TestShardsIncomplete runs and joins shards, package shardjob makes the Jobs
	w := newFixture(t, registrytest.Options{})
	line := []string{"plan", "-c", w.path("imageset.yaml"), "--lock", w.path("plan.json"), "--kubernetes-job", "2", "--kubernetes-image", "registry.example.com/gantry:v1", w.docker("/site")}
	o := w.must(line...)
	if again := w.must(line...); again.stdout != o.stdout {
		t.Error("the second run printed other objects")
	}
	if n := len(w.mirror.Log()); n > 0 {
		t.Errorf("%d requests to a registry that may be reachable from pods alone", n)
	}
	files, jobs := printedJobs(t, o.stdout)
	if len(jobs) != 2 || len(files) != 1 || jobs[0].Spec.Completions != 2 {
		t.Fatalf("%d Jobs and %d files:\n%s", len(jobs), len(files), o.stdout)
	}
	planned, certificates := w.configMapVolume("planned", files), w.configMapVolume("certificates", nil)
	pod := func(job jobObject, workspace string) []string {
		text := strings.Join(job.Spec.Template.Spec.Containers[0].Args, "\n")
		return strings.Split(strings.NewReplacer("/etc/gantry-plan", planned, "/etc/gantry-certificates", certificates, "=/workspace", "="+w.path(workspace)).Replace(text), "\n")
	}
	finish := pod(jobs[1], "finish")
	w.refuse(exitUsage, []string{"JOB_COMPLETION_INDEX, which is not set"}, pod(jobs[0], "none")...)
	w.refuse(exitMismatch, []string{"2 shards of the plan are not complete"}, finish...)
	for i := range 2 {
		w.env["JOB_COMPLETION_INDEX"] = strconv.Itoa(i)
		o := w.must(pod(jobs[0], fmt.Sprint("shard", i))...)
		if want := fmt.Sprintf("Shard %d/2 is complete", i+1); !strings.Contains(o.stdout, want) {
			t.Errorf("pod %d did not print %q:\n%s", i, want, o.stdout)
		}
	}
	w.must(finish...)
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/one"))
	if diff := cmp.Diff(w.contentOf("one"), w.contentOf("site")); diff != "" {
		t.Errorf("the content of one run (-) differs from the Jobs (+):\n%s", diff)
	}
}

// TestKubernetesJobRefused checks which flags are refused, before anything is read from a registry.
func TestKubernetesJobRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	image := []string{"--kubernetes-image", "registry.example.com/gantry:v1"}
	with := func(args ...string) []string { return append(slices.Clone(image), args...) }
	for _, tc := range []struct {
		words string
		args  []string
	}{
		{"--kubernetes-job is 0, and a plan has 1 to 1000 shards", with("--kubernetes-job", "0", w.docker("/x"))},
		{"--kubernetes-job is 1001", with("--kubernetes-job", "1001", w.docker("/x"))},
		{"--kubernetes-job requires a destination that is a registry", with("--kubernetes-job", "2")},
		{"--kubernetes-job requires a destination that is a registry", with("--kubernetes-job", "2", "file://"+w.path("disk"))},
		{"--kubernetes-job requires --kubernetes-image", []string{"--kubernetes-job", "2", w.docker("/x")}},
		{"must not contain credentials", with("--kubernetes-job", "2", "docker://user:secret@mirror.example.com")},
		{"--kubernetes-image", []string{"--kubernetes-job", "2", "--kubernetes-image", "a b", w.docker("/x")}},
		{`--kubernetes-plan-claim "A" is not the name`, with("--kubernetes-job", "2", "--kubernetes-plan-claim", "A", w.docker("/x"))},
		{"--kubernetes-image is only for --kubernetes-job", with(w.docker("/x"))},
		{"--kubernetes-job prints YAML", with("--kubernetes-job", "2", "-o", "json", w.docker("/x"))},
		{"--kubernetes-job cannot be combined with --policy", with("--kubernetes-job", "2", "--policy", "policy.json", w.docker("/x"))},
		{"--kubernetes-job cannot be combined with --gate", with("--kubernetes-job", "2", "--gate", "scan", w.docker("/x"))},
	} {
		w.source.ResetLog()
		w.refuse(exitUsage, []string{tc.words}, append([]string{"plan", "-c", w.path("imageset.yaml")}, tc.args...)...)
		if n := len(w.source.Log()); n > 0 {
			t.Errorf("%s: %d requests", tc.words, n)
		}
	}
}
