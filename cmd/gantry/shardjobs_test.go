package main

import (
	"encoding/base64"
	"fmt"
	"os"
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
	w.mkdir("planned") // as a volume is, with symbolic links into a folder that can be replaced
	w.mkdir("certificates")
	for file, encoded := range files {
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil {
			err = os.Symlink(w.write("data-"+file, string(text)), w.path("planned/"+file))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pod := func(job jobObject, workspace string) []string {
		text := strings.Join(job.Spec.Template.Spec.Containers[0].Args, "\n")
		return strings.Split(strings.NewReplacer("/etc/gantry-plan", w.path("planned"), "/etc/gantry-certificates", w.path("certificates"), "=/workspace", "="+w.path(workspace)).Replace(text), "\n")
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

// TestKubernetesJobRefused checks which flags are refused. Package shards tests the options.
func TestKubernetesJobRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	for args, words := range map[string]string{
		"--kubernetes-job 0 --kubernetes-image x/gantry:v1 ":                        "--kubernetes-job is 0, and a plan has 1 to 1000 shards",
		"--kubernetes-job 2 ":                                                       "--kubernetes-job requires --kubernetes-image",
		"--kubernetes-image x/gantry:v1 ":                                           "--kubernetes-image is only for --kubernetes-job",
		"--kubernetes-job 2 --kubernetes-image x/gantry:v1 -o json ":                "--kubernetes-job prints YAML",
		"--kubernetes-job 2 --kubernetes-image x/gantry:v1 --policy policy.json ":   "--kubernetes-job cannot be combined with --policy",
		"--kubernetes-job 2 --kubernetes-image x/gantry:v1 --gate scan ":            "--kubernetes-job cannot be combined with --gate",
		"--kubernetes-job 2 --kubernetes-image x/gantry:v1 docker://user:secret@x ": "must not contain credentials",
	} {
		if !strings.Contains(args, "docker://") {
			args += w.docker("/x")
		}
		w.refuse(exitUsage, []string{words}, append([]string{"plan", "-c", w.path("imageset.yaml")}, strings.Fields(args)...)...)
	}
	if n := len(w.source.Log()); n > 0 {
		t.Errorf("%d requests", n)
	}
}
