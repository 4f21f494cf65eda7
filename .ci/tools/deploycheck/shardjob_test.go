package deploycheck

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// TestShardJobs checks what gantry plan --kubernetes-job prints, with the plan in a ConfigMap and on a volume.
func TestShardJobs(t *testing.T) {
	for _, tc := range []struct {
		file      string
		configMap bool
	}{{"configmap.yaml", true}, {"volume.yaml", false}} {
		text, err := os.ReadFile(filepath.Join("../../../pkg/resources/shardjob/testdata", tc.file))
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Split(text, []byte("\n---\n"))
		var account core.ServiceAccount
		decode(t, all[0], "ServiceAccount", "v1", &account)
		if *account.AutomountServiceAccountToken {
			t.Error("pods get a token that they do not need")
		}
		var claim core.PersistentVolumeClaim
		decode(t, all[1], "PersistentVolumeClaim", "v1", &claim)
		var plan core.ConfigMap
		if tc.configMap {
			decode(t, all[2], "ConfigMap", "v1", &plan)
			all = slices.Delete(all, 2, 3)
			if len(plan.BinaryData) != 1 || !*plan.Immutable {
				t.Errorf("the ConfigMap has %d files", len(plan.BinaryData))
			}
		}
		if len(all) != 4 {
			t.Fatalf("%s: %d objects without the plan, want 4", tc.file, len(all))
		}
		var shards, finish batch.Job
		decode(t, all[2], "Job", "batch/v1", &shards)
		decode(t, all[3], "Job", "batch/v1", &finish)
		if s := shards.Spec; *s.CompletionMode != batch.IndexedCompletion || *s.Completions != 4 || *s.Parallelism != 4 || *s.BackoffLimitPerIndex == 0 {
			t.Errorf("the Job of the shards is %+v", s)
		}
		for _, job := range []*batch.Job{&shards, &finish} {
			pod := job.Spec.Template.Spec
			checkRestricted(t, &pod)
			checkArguments(t, pod.Containers[0].Args)
			checkVolumes(t, &pod, &claim, &plan)
			if pod.RestartPolicy != core.RestartPolicyNever { // the policy requires it
				t.Errorf("%s: restartPolicy is %s", job.Name, pod.RestartPolicy)
			}
			if pod.ServiceAccountName != account.Name || *pod.AutomountServiceAccountToken {
				t.Errorf("%s: the account is %s", job.Name, pod.ServiceAccountName)
			}
			for _, rule := range job.Spec.PodFailurePolicy.Rules {
				c := rule.OnExitCodes
				if c == nil {
					continue
				}
				if *c.ContainerName != pod.Containers[0].Name || !slices.IsSorted(c.Values) {
					t.Errorf("%s: a rule is %+v", job.Name, c)
				}
				// The finishing Job ends with 4 and 11 until the shards are complete.
				if retried := []int32{11, 4}; slices.Contains(c.Values, retried[0]) || job == &finish && slices.Contains(c.Values, retried[1]) {
					t.Errorf("%s is not run again after %v", job.Name, c.Values)
				}
			}
		}
	}
}

// checkVolumes checks that each mount has a volume, and that volumes are among the objects, or are the user's.
func checkVolumes(t *testing.T, pod *core.PodSpec, claim *core.PersistentVolumeClaim, plan *core.ConfigMap) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName != claim.Name && c.ClaimName != "plans" {
			t.Errorf("the claim %s does not exist", c.ClaimName)
		}
		if c := v.ConfigMap; c != nil && c.Name != plan.Name && (c.Optional == nil || !*c.Optional) {
			t.Errorf("the ConfigMap %s does not exist", c.Name)
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("the volume %s of a mount does not exist", m.Name)
		}
		volumes[m.Name] = false
	}
	for name, unused := range volumes {
		if unused {
			t.Errorf("the volume %s is not mounted", name)
		}
	}
	for _, arg := range pod.Containers[0].Args {
		if file, ok := strings.CutPrefix(arg, "--plan="); ok && plan.Name != "" && plan.BinaryData[filepath.Base(file)] == nil {
			t.Errorf("the ConfigMap has no %s", file)
		}
	}
}
