package shards

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/resources/shardjob"
)

// KubernetesJobOptions says how a plan is copied by Jobs of a cluster. KubernetesJob, KubernetesImage and
// Destination are required.
type KubernetesJobOptions struct {
	// KubernetesJob is the number of shards.
	KubernetesJob int
	// KubernetesImage is the container image of Gantry.
	KubernetesImage string
	// KubernetesPlanClaim is a PersistentVolumeClaim with the plan, as plan.json. Empty is a ConfigMap with the
	// plan, which must then have at most 1 MiB when compressed.
	KubernetesPlanClaim string
	// Destination is the registry to copy to, and MaxNestedPaths how many path components it allows; 0 is no limit.
	Destination    string
	MaxNestedPaths int
	// Arguments are more arguments of gantry mirror in the pods.
	Arguments []string
}

// Check returns an error if options are missing or wrong. It reads no files.
func (o *KubernetesJobOptions) Check() error {
	switch {
	case o.KubernetesJob < 1 || o.KubernetesJob > plan.MaxShards:
		return env.InputHint("give the number of pods that copy at the same time", "KubernetesJobOptions.KubernetesJob is %d, and a plan has 1 to %d shards", o.KubernetesJob, plan.MaxShards)
	case !strings.HasPrefix(o.Destination, env.RegistryScheme):
		return env.InputHint("name the registry: docker://HOST[:PORT][/PREFIX]", "KubernetesJobOptions.KubernetesJob requires a destination that is a registry")
	case o.KubernetesImage == "":
		return env.InputHint("make the image as the documentation of the installation describes, and set it", "KubernetesJobOptions.KubernetesJob requires KubernetesJobOptions.KubernetesImage")
	}
	if _, err := mirror.ParseRegistryPath(o.Destination, o.MaxNestedPaths); err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	if _, err := reference.Parse(o.KubernetesImage); err != nil {
		return env.Inputf("KubernetesJobOptions.KubernetesImage: %w", err)
	}
	if o.KubernetesPlanClaim != "" && resources.CheckNamespace(o.KubernetesPlanClaim) != nil {
		return env.InputHint("use lower case letters, digits and dashes, at most 63", "KubernetesJobOptions.KubernetesPlanClaim %q is not the name of a PersistentVolumeClaim", o.KubernetesPlanClaim)
	}
	return nil
}

// KubernetesJob returns the Kubernetes objects that copy a plan as YAML documents: an Indexed Job with a pod for
// each shard, a Job that publishes what shards do not, and what both need. They name the Secret with
// credentials, and do not contain it. The same plan and options give the same bytes.
func KubernetesJob(p *plan.Plan, o KubernetesJobOptions) ([]byte, error) {
	if err := errors.Join(o.Check(), checkNotLocal(p)); err != nil {
		return nil, err
	}
	sum, err := p.Digest()
	if err != nil {
		return nil, err
	}
	job := shardjob.Options{
		Name: p.Name, Digest: sum.String(), PlanClaim: o.KubernetesPlanClaim, Shards: o.KubernetesJob, Image: o.KubernetesImage, Arguments: o.Arguments, Destination: o.Destination,
	}
	if o.KubernetesPlanClaim == "" {
		if job.Plan, err = compressPlan(p); err != nil {
			return nil, err
		}
		if len(job.Plan) > shardjob.MaxPlan {
			return nil, env.InputHint("copy the plan to a volume as "+shardjob.PlanFile+" and set KubernetesJobOptions.KubernetesPlanClaim to its claim",
				"the plan has %s when compressed, and a ConfigMap holds 1 MiB", progress.Bytes(int64(len(job.Plan))))
		}
	}
	return shardjob.YAML(job)
}

// compressPlan returns the text of a plan, compressed.
func compressPlan(p *plan.Plan) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		err = errors.Join(p.Write(z), z.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("compressing the plan: %w", err)
	}
	return b.Bytes(), nil
}

// checkNotLocal returns an error if a plan has sources on this host, which pods cannot read.
func checkNotLocal(p *plan.Plan) error {
	for _, c := range p.Catalogs {
		if err := checkRemote(c.Source); err != nil {
			return err
		}
	}
	for i := range p.Images {
		if err := checkRemote(p.Images[i].Source); err != nil {
			return err
		}
	}
	return nil
}

func checkRemote(source string) error {
	_, file := plan.FilePath(source)
	if file || strings.HasPrefix(source, env.LayoutScheme) || strings.HasPrefix(source, "dir://") || strings.HasPrefix(source, plan.ChartScheme) {
		return env.InputHint("mirror it in a run of its own on this host", "the plan contains %s, which pods cannot read", plan.SourceText(source))
	}
	return nil
}
