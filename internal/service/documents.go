package service

import (
	"context"

	"warranty.example/svc/warranty"
)

// ListDocuments lists the metadata of documents that the principal may see.
func (s *Service) ListDocuments(ctx context.Context, p warranty.Principal, in warranty.ListDocuments) (warranty.Page[warranty.Document], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Document]{}, err
	}
	list, total, err := s.Store.Documents(ctx, p.User.ID, in)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetDocument gets the metadata of one document that the principal may see.
func (s *Service) GetDocument(ctx context.Context, p warranty.Principal, in warranty.GetDocument) (warranty.Document, error) {
	return s.Store.Document(ctx, p.User.ID, in.ID)
}
