package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// An ecrRegistry is a private registry of Amazon ECR.
type ecrRegistry struct {
	account, region string
	endpoint        string // of the API
}

// parseECR reads the name of a registry's host: ACCOUNT.dkr.ecr.REGION.amazonaws.com, with ecr-fips for FIPS
// endpoints, .cn for China, or ACCOUNT.dkr-ecr.REGION.on.aws with IPv6. AWS_ENDPOINT_URL_ECR and
// AWS_ENDPOINT_URL name another endpoint of the API, such as one in a private network.
//
// Source: Amazon ECR endpoints and quotas, in the AWS General Reference; Service-specific endpoints, in the
// AWS SDKs and Tools Reference Guide.
func parseECR(host string, getenv func(string) string) (r ecrRegistry, ok bool) {
	account, rest, _ := strings.Cut(host, ".")
	if len(account) != 12 || strings.Trim(account, "0123456789") != "" {
		return r, false
	}
	for _, form := range []struct{ before, after, endpoint string }{
		{"dkr.ecr.", ".amazonaws.com", "https://api.ecr.%s.amazonaws.com"},
		{"dkr.ecr.", ".amazonaws.com.cn", "https://api.ecr.%s.amazonaws.com.cn"},
		{"dkr.ecr-fips.", ".amazonaws.com", "https://ecr-fips.%s.amazonaws.com"},
		{"dkr-ecr.", ".on.aws", "https://ecr.%s.api.aws"},
		{"dkr-ecr-fips.", ".on.aws", "https://ecr-fips.%s.api.aws"},
	} {
		region, begins := strings.CutPrefix(rest, form.before)
		region, ends := strings.CutSuffix(region, form.after)
		if !begins || !ends || region == "" || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			continue
		}
		r = ecrRegistry{account, region, fmt.Sprintf(form.endpoint, region)}
		if getenv != nil {
			for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_ECR"} {
				if own := getenv(name); own != "" {
					r.endpoint = strings.TrimSuffix(own, "/")
				}
			}
		}
		return r, true
	}
	return r, false
}

// command returns the command of the AWS CLI that creates a repository.
func (r ecrRegistry) command(name string) string {
	return fmt.Sprintf("aws ecr create-repository --region %s --registry-id %s --image-tag-mutability MUTABLE --repository-name %s", r.region, r.account, name)
}

// An ecrRequest is the body of CreateRepository. Gantry moves the tags of catalogs, whatever the account's
// default is.
//
// Source: CreateRepository in the Amazon ECR API Reference, version 2015-09-21.
type ecrRequest struct {
	RegistryID         string `json:"registryId"`
	RepositoryName     string `json:"repositoryName"`
	ImageTagMutability string `json:"imageTagMutability"`
}

// Waits after responses that ask for fewer requests.
const (
	throttledTimes = 6
	throttledWait  = time.Second
)

func (r *Registry) ecrCreator() (func(ctx context.Context, name string) (bool, error), error) {
	keys, err := awsCredential(r.o.Getenv, r.o.Home)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(r.ecr.endpoint)
	if err != nil || u.Host == "" {
		return nil, advice.New(advice.Input, "write https://HOST", "AWS_ENDPOINT_URL_ECR or AWS_ENDPOINT_URL is not the URL of an endpoint")
	}
	u.Path = cmp.Or(u.Path, "/")
	return func(ctx context.Context, name string) (bool, error) {
		op := "creating the repository " + name
		body, err := json.Marshal(ecrRequest{r.ecr.account, name, "MUTABLE"})
		if err != nil {
			return false, fmt.Errorf("%s: %w", op, err)
		}
		sum := sha256.Sum256(body)
		for n := 0; ; n++ {
			answer, err := r.o.Caller.Call(ctx, remote.Call{Op: op, Method: http.MethodPost, URL: u.String(), Body: body, Limit: maxAnswer, Header: func() http.Header {
				h := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"AmazonEC2ContainerRegistry_V20150921.CreateRepository"}}
				sign(h, signing{method: http.MethodPost, url: u, payload: hex.EncodeToString(sum[:]), region: r.ecr.region, service: "ecr", at: r.o.Now(), keys: keys})
				return h
			}})
			if err != nil {
				return false, reachable(err)
			}
			code, message := ecrError(answer)
			switch {
			case answer.Status == http.StatusOK:
				return true, nil
			case code == "RepositoryAlreadyExistsException":
				return false, nil
			case code == "ThrottlingException" || code == "TooManyRequestsException":
				if n < throttledTimes {
					if err := r.o.Wait(ctx, throttledWait<<n); err != nil {
						return false, err
					}
					continue
				}
			}
			return false, ecrRefused(op, r.o.Host, answer, code, message, keys.Source)
		}
	}, nil
}

// ecrError returns code and message of an error response.
func ecrError(answer *remote.Answer) (code, message string) {
	var text struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if answer.Status == http.StatusOK || json.Unmarshal(answer.Body, &text) != nil {
		return "", ""
	}
	return text.Type[strings.LastIndex(text.Type, "#")+1:], text.Message
}

// ecrRefused returns the error of a response.
func ecrRefused(op, host string, answer *remote.Answer, code, message, source string) error {
	switch code {
	case "AccessDeniedException":
		answer.Status = http.StatusForbidden
		return refused(op, host, answer, code, message, "permit ecr:CreateRepository to the user of the credentials from "+source)
	case "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "IncompleteSignatureException", "MissingAuthenticationTokenException", "InvalidClientTokenId":
		answer.Status = http.StatusForbidden
		return refused(op, host, answer, code, message, "correct or renew the AWS credentials from "+source+", and check the clock of this machine")
	case "LimitExceededException":
		return refused(op, host, answer, code, message, "raise the quota of repositories in the AWS account")
	}
	return refused(op, host, answer, code, message, "")
}

// reachable adds to the error of an endpoint that cannot be reached how to set another one.
func reachable(err error) error {
	if errors.Is(err, remote.ErrUnreachable) {
		return advice.Wrap(advice.Failure, err, "set AWS_ENDPOINT_URL_ECR if the API of Amazon ECR has another address here")
	}
	return err
}
