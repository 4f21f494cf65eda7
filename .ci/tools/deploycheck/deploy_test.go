// Package deploycheck checks the files of docs/deploy: the units against systemd, the objects against the types
// and rules of Kubernetes and Tekton.
package deploycheck

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pipeline "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const deploy = "../../../docs/deploy"

// documents returns the YAML documents of a file.
func documents(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

// decode reads an object, and refuses fields that its type does not have.
func decode(t *testing.T, text []byte, kind, version string, object any) {
	t.Helper()
	var head struct{ Kind, APIVersion string }
	if err := yaml.Unmarshal(text, &head); err != nil || head.Kind != kind || head.APIVersion != version {
		t.Fatalf("the object is a %s of %s, want %s of %s (%v)", head.Kind, head.APIVersion, kind, version, err)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatal(err)
	}
}

func TestCronJob(t *testing.T) {
	all := documents(t, "kubernetes/cronjob.yaml")
	if len(all) != 2 {
		t.Fatalf("the file has %d objects, want 2", len(all))
	}
	var claim core.PersistentVolumeClaim
	decode(t, all[0], "PersistentVolumeClaim", "v1", &claim)
	var job batch.CronJob
	decode(t, all[1], "CronJob", "batch/v1", &job)
	if job.Spec.ConcurrencyPolicy != batch.ForbidConcurrent {
		t.Error("two runs could use one workspace")
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName != claim.Name {
			t.Errorf("the pod uses the claim %s, and the file has %s", c.ClaimName, claim.Name)
		}
	}
	container := pod.Containers[0]
	for _, m := range container.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("the volume %s of a mount does not exist", m.Name)
		}
	}
	for _, rule := range job.Spec.JobTemplate.Spec.PodFailurePolicy.Rules {
		if c := rule.OnExitCodes; c != nil && *c.ContainerName != container.Name {
			t.Errorf("a rule is for the container %s, which does not exist", *c.ContainerName)
		}
	}
	checkRestricted(t, &pod)
	checkArguments(t, container.Args)
}

// checkRestricted checks a pod against the restricted level of the pod security standards.
func checkRestricted(t *testing.T, pod *core.PodSpec) {
	t.Helper()
	s := pod.Containers[0].SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || pod.SecurityContext.SeccompProfile == nil {
		t.Error("the pod is not allowed by the restricted pod security standard")
	}
}

func TestTask(t *testing.T) {
	all := documents(t, "tekton/task.yaml")
	var task pipeline.Task
	decode(t, all[0], "Task", "tekton.dev/v1", &task)
	task.SetDefaults(t.Context())
	if err := task.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	checkArguments(t, task.Spec.Steps[0].Args)
}

// checkArguments checks the flags of a command line against the program, which .ci/run builds.
func checkArguments(t *testing.T, args []string) {
	t.Helper()
	program, err := filepath.Abs("../../../bin/gantry")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("make build has not been run")
	}
	help, err := exec.Command(program, args[0], "--help", "--all").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range args[1:] {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "--") && !strings.Contains(string(help), name+" ") {
			t.Errorf("gantry %s has no flag %s", args[0], name)
		}
	}
}

func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	for _, name := range []string{"gantry-mirror@.service", "gantry-mirror@.timer"} {
		text, err := os.ReadFile(filepath.Join(deploy, "systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "gantry-mirror@.service" {
			start := "ExecStart=/usr/bin/gantry "
			if !bytes.Contains(text, []byte(start)) {
				t.Fatalf("the service does not start with %s", start)
			}
			_, line, _ := strings.Cut(string(text), start)
			line, _, _ = strings.Cut(line, "\n")
			checkArguments(t, strings.Fields(line))
			// systemd-analyze requires the program.
			text = bytes.Replace(text, []byte(start), []byte("ExecStart=/bin/true "), 1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() string {
		cmd := exec.Command("systemd-analyze", "verify", "--man=no", "./gantry-mirror@.service", "./gantry-mirror@.timer")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return string(out)
	}
	if out := verify(); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	broken := []byte("[Service]\nType=oneshot\nExecStart=/bin/true\nNoNewPriviledges=yes\n")
	if err := os.WriteFile(filepath.Join(dir, "gantry-mirror@.service"), broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := verify(); !strings.Contains(out, "NoNewPriviledges") {
		t.Errorf("systemd-analyze does not find a misspelled setting: %q", out)
	}
}
