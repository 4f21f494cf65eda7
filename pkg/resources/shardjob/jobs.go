package shardjob

import "strconv"

const (
	container = "gantry"
	// user is the user and group of the container image.
	user = 65532
	// shardRetries is how often a shard is run again. A failed image ends a run with 3, and the next run copies
	// what is missing.
	shardRetries = 6
	// finishRetries is how often the finishing Job is started again while shards are incomplete. Waits grow to
	// minutes, so that this is several days.
	finishRetries = 1000
)

// Exit codes of gantry mirror that another run does not change.
var (
	// A shard fails again with a damaged plan (4), wrong flags (10) and without permission (12).
	shardFailures = []int{4, 10, 12}
	// The finishing Job ends with 4 while shards are incomplete. With 3 it has published what is available.
	finishFailures = []int{3, 10, 12}
)

// shards returns the Job with a pod for each shard.
func (o *Options) shards(n names) object {
	count := strconv.Itoa(o.Shards)
	return object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": n.metadata(n.shards),
		"spec": object{
			"completionMode": "Indexed", "completions": o.Shards, "parallelism": o.Shards, "backoffLimitPerIndex": shardRetries,
			"podFailurePolicy": failurePolicy(shardFailures),
			"template":         o.pod(n, "--shard=job/"+count, object{"name": "workspace", "emptyDir": object{}}),
		},
	}
}

// finish returns the Job that publishes what shards do not.
func (o *Options) finish(n names) object {
	return object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": n.metadata(n.finish),
		"spec": object{
			"backoffLimit": finishRetries, "podFailurePolicy": failurePolicy(finishFailures),
			"template": o.pod(n, "--finish="+strconv.Itoa(o.Shards), claim("workspace", n.workspace, false)),
		},
	}
}

// failurePolicy ends a Job after some exit codes, and does not count pods that were evicted.
func failurePolicy(codes []int) object {
	return object{"rules": []object{
		{"action": "FailJob", "onExitCodes": object{"containerName": container, "operator": "In", "values": codes}},
		{"action": "Ignore", "onPodConditions": []object{{"type": "DisruptionTarget", "status": "True"}}},
	}}
}

// pod returns the template of a pod that runs gantry mirror. The restricted pod security standard allows it.
func (o *Options) pod(n names, part string, workspace object) object {
	file, plan := compressedFile, object{"name": "plan", "configMap": object{"name": n.plan}}
	if o.PlanClaim != "" {
		file, plan = PlanFile, claim("plan", o.PlanClaim, true)
	}
	args := append([]string{"mirror", "--plan=/etc/gantry-plan/" + file, part, "--workspace=/workspace", "--cert-dir=/etc/gantry-certificates", "--progress=lines"}, o.Arguments...)
	return object{
		"metadata": object{"labels": n.labels()},
		"spec": object{
			"restartPolicy": "Never", "serviceAccountName": n.account, "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 30,
			"securityContext": object{
				"runAsNonRoot": true, "runAsUser": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch",
				"seccompProfile": object{"type": "RuntimeDefault"},
			},
			"containers": []object{{
				"name": container, "image": o.Image, "args": append(args, o.Destination),
				"env":       []object{{"name": "REGISTRY_AUTH_FILE", "value": "/etc/gantry-auth/auth.json"}},
				"resources": object{"requests": object{"cpu": "500m", "memory": "256Mi"}, "limits": object{"memory": "512Mi"}},
				"securityContext": object{
					"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []string{"ALL"}},
				},
				"volumeMounts": []object{
					mount("workspace", "/workspace", false), mount("plan", "/etc/gantry-plan", true), mount("auth", "/etc/gantry-auth", true),
					mount("certificates", "/etc/gantry-certificates", true), mount("tmp", "/tmp", false),
				},
			}},
			"volumes": []object{
				workspace, plan,
				{"name": "auth", "secret": object{"secretName": Credentials, "defaultMode": 0o440}},
				{"name": "certificates", "configMap": object{"name": Certificates, "optional": true}},
				{"name": "tmp", "emptyDir": object{}},
			},
		},
	}
}

func claim(name, of string, readOnly bool) object {
	source := object{"claimName": of}
	if readOnly {
		source["readOnly"] = true
	}
	return object{"name": name, "persistentVolumeClaim": source}
}

func mount(name, path string, readOnly bool) object {
	m := object{"name": name, "mountPath": path}
	if readOnly {
		m["readOnly"] = true
	}
	return m
}
