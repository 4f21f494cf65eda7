// Package trust applies a signature policy (containers-policy.json(5)) to the images of a plan: at their sources, in
// an archive, and at the mirror.
//
// The three main types:
//
//   - ImageTrust are the options: which policy, where signatures are stored, which cosign.
//   - SignaturePolicy is a policy that was read and is applied to one run.
//   - VerifiedSignatures counts who signed the images that it accepted.
//
// An image that the policy refuses is treated as one that is missing: it is not copied, and no catalog
// that names it is published. Images that Gantry built are judged by those they were made from. What the
// policy found also becomes ClusterImagePolicies, so that clusters demand the same.
//
// The rules of policies are in package signature/policy. This package never copies an image.
//
// Start with ReadPolicy in imagetrust.go, then read AcceptSources in acceptimages.go.
package trust
