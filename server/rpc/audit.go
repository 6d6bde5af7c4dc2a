package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

// auditService translates calls about the audit.
type auditService struct{ app *app.App }

var _ beckonv1connect.AuditServiceHandler = auditService{}

func (s auditService) ListAudit(ctx context.Context, r *v1.ListAuditRequest) (*v1.ListAuditResponse, error) {
	page, err := s.app.ListAudit(ctx, principalOf(ctx), app.ListAudit{After: r.GetAfterSeq(), Size: int(r.GetPageSize())})
	if err != nil {
		return nil, err
	}
	return &v1.ListAuditResponse{Entries: page.Entries, HeadSeq: page.HeadSeq, HeadHash: page.HeadHash}, nil
}
