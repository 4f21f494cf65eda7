// Package shardjob writes the Kubernetes objects that copy the shards of a plan: an Indexed Job with a pod for each
// shard, and a Job that publishes catalogs, releases and cluster resources when all shards are complete.
//
// The Jobs begin at the same time and coordinate through the registry alone. The finishing Job ends with 4 until the
// shards are complete, and with 11 while one of them uses the registry; Kubernetes starts it again after a wait that
// grows to minutes. Shards have empty workspaces. The workspace of the finishing Job is a volume that stays.
//
// The plan is in a ConfigMap, compressed, or on a volume of the user. Credentials and certificates are a Secret and a
// ConfigMap of the user: the objects contain their names alone. The objects have no namespace, no timestamps, and the
// same bytes for the same options. Names of Jobs contain a digest of the options, because Jobs cannot be changed:
// applying the same objects again changes nothing, and another plan gives new Jobs.
package shardjob

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// MaxPlan is how many bytes a compressed plan may have in a ConfigMap: Kubernetes permits 1 MiB for content and keys.
const MaxPlan = 1<<20 - len(compressedFile)

// Names of what the user creates, and of files.
const (
	// Credentials is the Secret with credentials for registries, in the key auth.json.
	Credentials = "gantry-auth" //nolint:gosec // a name
	// Certificates is the ConfigMap with CA certificates of registries, *.crt. It need not exist.
	Certificates = "gantry-certificates"
	// PlanFile is the plan on a volume of the user.
	PlanFile = "plan.json"

	compressedFile = "plan.json.gz"
)

// Options are what the objects are made from. All without a comment are required.
type Options struct {
	// Name is the name of the plan.
	Name string
	// Digest is the digest of the plan.
	Digest string
	// Plan is the plan, compressed with gzip. It is not used with PlanClaim.
	Plan []byte
	// PlanClaim, if not empty, is the PersistentVolumeClaim with the plan, in PlanFile.
	PlanClaim string
	// Shards is the number of shards.
	Shards int
	// Image is the container image of Gantry.
	Image string
	// Arguments are more arguments of gantry mirror, for shards and the end. It may be empty.
	Arguments []string
	// Destination is the registry, docker://HOST[:PORT][/PREFIX].
	Destination string
}

type object map[string]any

// YAML returns the objects as YAML documents, with a comment about what the user creates.
func YAML(o Options) ([]byte, error) {
	n := o.names()
	objects := []object{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": n.metadata(n.account), "automountServiceAccountToken": false},
		{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": n.metadata(n.workspace), "spec": object{
			"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "10Gi"}},
		}},
	}
	if o.PlanClaim == "" {
		objects = append(objects, object{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": n.metadata(n.plan), "immutable": true,
			"binaryData": object{compressedFile: base64.StdEncoding.EncodeToString(o.Plan)},
		})
	}
	objects = append(objects, o.shards(n), o.finish(n))
	var b bytes.Buffer
	b.WriteString(o.comment())
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	for _, object := range objects {
		if err := enc.Encode(object); err != nil {
			return nil, fmt.Errorf("writing a %s: %w", object["kind"], err)
		}
	}
	return b.Bytes(), enc.Close()
}

func (o *Options) comment() string {
	text := `# Copies a plan as ` + strconv.Itoa(o.Shards) + ` shards, and then publishes it. Create the Secret first, in the namespace that you choose:
#   kubectl -n gantry create secret generic ` + Credentials + ` --from-file=auth.json=$HOME/.docker/config.json
# If the mirror, sources or a proxy have a certificate authority of their own:
#   kubectl -n gantry create configmap ` + Certificates + ` --from-file=ca.crt
# Apply this file on the server, because the plan is too large for the annotation of kubectl apply:
#   kubectl -n gantry apply --server-side -f FILE
# OpenShift assigns user and group itself: remove runAsUser and fsGroup there.
`
	if o.PlanClaim != "" {
		text += "# The plan " + o.Digest + " has to be " + PlanFile + " on the volume of " + o.PlanClaim + ".\n"
	}
	return text
}

// names are the names of objects.
type names struct{ instance, account, workspace, plan, shards, finish string }

func (o *Options) names() names {
	instance := resources.NewSuffix(o.Name, nil)
	hash := reference.ShortHash(strings.Join(append([]string{o.Digest, o.PlanClaim, strconv.Itoa(o.Shards), o.Image, o.Destination}, o.Arguments...), "\n"))
	prefix := "gantry-" + instance
	return names{
		instance: instance, account: prefix, workspace: prefix + "-workspace",
		plan: prefix + "-" + hash, shards: prefix + "-" + hash + "-shards", finish: prefix + "-" + hash + "-finish",
	}
}

func (n *names) metadata(name string) object {
	return object{"name": name, "labels": n.labels()}
}

func (n *names) labels() object {
	return object{"app.kubernetes.io/name": "gantry", "app.kubernetes.io/instance": n.instance}
}
