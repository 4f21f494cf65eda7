package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/shards"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// The names of the flags.
const (
	kubernetesJobFlag   = "kubernetes-job"
	kubernetesImageFlag = "kubernetes-image"
	kubernetesClaimFlag = "kubernetes-plan-claim"
)

// kubernetesFlags are the flags for the Jobs that copy a plan.
type kubernetesFlags struct {
	shards       int
	image, claim string
	flags        *pflag.FlagSet // to find out which were given
}

func (k *kubernetesFlags) addFlags(f *pflag.FlagSet) {
	k.flags = f
	f.IntVar(&k.shards, kubernetesJobFlag, 0, "print the Kubernetes objects that copy the plan to the destination with this number of pods, instead of the plan")
	f.StringVar(&k.image, kubernetesImageFlag, "", "with --kubernetes-job, the container image of Gantry")
	f.StringVar(&k.claim, kubernetesClaimFlag, "", "with --kubernetes-job, the PersistentVolumeClaim that has the plan as plan.json (default: a ConfigMap with the plan)")
}

// used reports whether Jobs are printed.
func (k *kubernetesFlags) used() bool { return k.flags.Changed(kubernetesJobFlag) }

// filesOfHost are flags for files and programs of this host, which would change what the pods do.
var filesOfHost = []string{policyFlag, securePolicyFlag, registriesDFlag, cosignFlag, gateFlag, gatePlanFlag, "release-key"}

// options returns the options that the flags set, and checks them.
func (k *kubernetesFlags) options(f *planFlags, output, destination string) (shards.KubernetesJobOptions, error) {
	o := shards.KubernetesJobOptions{KubernetesJob: k.shards, KubernetesImage: k.image, KubernetesPlanClaim: k.claim, Destination: destination, MaxNestedPaths: f.options.MaxNestedPaths}
	if !k.used() {
		for _, name := range []string{kubernetesImageFlag, kubernetesClaimFlag} {
			if k.flags.Changed(name) {
				return o, usageHint("add --kubernetes-job with the number of pods", "--%s is only for --kubernetes-job", name)
			}
		}
		return o, nil
	}
	if output == outputJSON {
		return o, usageHint("leave -o out", "--kubernetes-job prints YAML")
	}
	for _, name := range filesOfHost {
		if k.flags.Changed(name) {
			return o, usageHint("leave it out, and add it with its files to both Jobs", "--kubernetes-job cannot be combined with --%s, because the pods do not have its files", name)
		}
	}
	o.Arguments = f.podArguments()
	return o, o.Check()
}

// compared returns the destination that the plan is compared with. For Jobs it is none, unless another flag requires
// it: the registry may be one that only pods can connect to.
func (f *planFlags) compared(destination string) string {
	if f.kubernetes.used() && !f.exitCode && !f.options.AllowOlder && f.options.OnStrand == admission.OnStrandKnown {
		return ""
	}
	return destination
}

// podArguments returns the flags of the plan that its copy needs, too.
func (f *planFlags) podArguments() (args []string) {
	o := &f.options
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"remove-signatures", o.RemoveSignatures},
		{"ignore-release-signature", o.IgnoreReleaseSignature},
		{"src-tls-verify=false", f.Source.SkipTLSVerify},
		{"src-plain-http", f.Source.PlainHTTP},
		{"dest-tls-verify=false", f.Destination.SkipTLSVerify},
		{"dest-plain-http", f.Destination.PlainHTTP},
		{"max-nested-paths=" + strconv.Itoa(o.MaxNestedPaths), o.MaxNestedPaths != 0},
		{"allow-older", o.AllowOlder},
		{"forget-installed", o.ForgetInstalled},
		{"on-strand=" + o.OnStrand, o.OnStrand != admission.OnStrandKnown},
	} {
		if flag.set {
			args = append(args, "--"+flag.name)
		}
	}
	return args
}

// showJobs prints the objects that copy a plan.
func (a *app) showJobs(result *planning.Result, o shards.KubernetesJobOptions) error {
	text, err := shards.KubernetesJob(result.Plan, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s", text)
	return err
}
