; Moves of elements, the same code for all sizes: `moves.py` says what the words are, and states the conditions (1) to (5)
; that comments here cite.

declare void @llvm.memcpy.p0.p0.i64(ptr noalias, ptr noalias, i64, i1)

define void @fuse_move(ptr %slots, i64 %part, i64 %parts) {
entry:
  %counters = alloca [16 x i64]
  ; (1) The first word says where the record begins; addresses follow it.
  %start = load i64, ptr %slots
  %record = getelementptr i64, ptr %slots, i64 %start
  %pieces = load i64, ptr %record
  %first = getelementptr i64, ptr %record, i64 1
  br label %piece

piece:
  %number = phi i64 [ 0, %entry ], [ %next_number, %piece_done ]
  %at = phi ptr [ %first, %entry ], [ %next_piece, %piece_done ]
  %more = icmp slt i64 %number, %pieces
  br i1 %more, label %read, label %done

read:
  ; (2) The words of a piece.
  %source_at = getelementptr i64, ptr %at, i64 1
  %target_at = getelementptr i64, ptr %at, i64 2
  %skip_at = getelementptr i64, ptr %at, i64 3
  %offset_at = getelementptr i64, ptr %at, i64 4
  %item_at = getelementptr i64, ptr %at, i64 5
  %count_at = getelementptr i64, ptr %at, i64 6
  %source_step_at = getelementptr i64, ptr %at, i64 7
  %target_step_at = getelementptr i64, ptr %at, i64 8
  %axes = getelementptr i64, ptr %at, i64 9
  %rank = load i64, ptr %at
  %source_slot = load i64, ptr %source_at
  %target_slot = load i64, ptr %target_at
  %skip = load i64, ptr %skip_at
  %offset = load i64, ptr %offset_at
  %item = load i64, ptr %item_at
  %count = load i64, ptr %count_at
  %source_step = load i64, ptr %source_step_at
  %target_step = load i64, ptr %target_step_at
  %source_word = getelementptr i64, ptr %slots, i64 %source_slot
  %target_word = getelementptr i64, ptr %slots, i64 %target_slot
  %source_base = load ptr, ptr %source_word
  %target_base = load ptr, ptr %target_word
  %source_start = getelementptr i8, ptr %source_base, i64 %skip
  %target_start = getelementptr i8, ptr %target_base, i64 %offset
  ; (4) The line, then all axes, while their counters are cleared.
  %has_none = icmp eq i64 %count, 0
  br i1 %has_none, label %piece_done, label %clear

clear:
  %cleared = phi i64 [ 0, %read ], [ %next_cleared, %clear_one ]
  %is_left = icmp slt i64 %cleared, %rank
  br i1 %is_left, label %clear_one, label %line

clear_one:
  %counter_at = getelementptr i64, ptr %counters, i64 %cleared
  store i64 0, ptr %counter_at
  %next_cleared = add i64 %cleared, 1
  %words_before = mul i64 %cleared, 3
  %extent_at = getelementptr i64, ptr %axes, i64 %words_before
  %extent = load i64, ptr %extent_at
  %is_empty = icmp eq i64 %extent, 0
  br i1 %is_empty, label %piece_done, label %clear

line:
  %source = phi ptr [ %source_start, %clear ], [ %stepped_source, %stepped ]
  %target = phi ptr [ %target_start, %clear ], [ %stepped_target, %stepped ]
  switch i64 %item, label %bytes [
    i64 1, label %loop1
    i64 2, label %loop2
    i64 4, label %loop4
    i64 8, label %loop8
    i64 -8, label %numbers
  ]

bytes:
  ; (3) A line without gaps.
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %count, i1 false)
  br label %line_done

numbers:
  ; (5) Numbers that are equally far apart.
  %place = phi i64 [ 0, %line ], [ %next_place, %numbers ]
  %value = phi i64 [ %skip, %line ], [ %next_value, %numbers ]
  %value_at = getelementptr i64, ptr %target, i64 %place
  store i64 %value, ptr %value_at, align 1
  %next_place = add i64 %place, 1
  %next_value = add i64 %value, %source_step
  %more_numbers = icmp slt i64 %next_place, %count
  br i1 %more_numbers, label %numbers, label %line_done

$loops
line_done:
  br label %axis

axis:
  ; The next line: the innermost axis first.
  %left = phi i64 [ %rank, %line_done ], [ %this, %wrap ]
  %axis_source = phi ptr [ %source, %line_done ], [ %wrapped_source, %wrap ]
  %axis_target = phi ptr [ %target, %line_done ], [ %wrapped_target, %wrap ]
  %is_last = icmp eq i64 %left, 0
  br i1 %is_last, label %piece_done, label %step

step:
  %this = sub i64 %left, 1
  %words = mul i64 %this, 3
  %size_at = getelementptr i64, ptr %axes, i64 %words
  %source_stride_at = getelementptr i64, ptr %size_at, i64 1
  %target_stride_at = getelementptr i64, ptr %size_at, i64 2
  %size = load i64, ptr %size_at
  %source_stride = load i64, ptr %source_stride_at
  %target_stride = load i64, ptr %target_stride_at
  %own_at = getelementptr i64, ptr %counters, i64 %this
  %own = load i64, ptr %own_at
  %next_own = add i64 %own, 1
  %stepped_source = getelementptr i8, ptr %axis_source, i64 %source_stride
  %stepped_target = getelementptr i8, ptr %axis_target, i64 %target_stride
  %goes_on = icmp slt i64 %next_own, %size
  br i1 %goes_on, label %stepped, label %wrap

stepped:
  store i64 %next_own, ptr %own_at
  br label %line

wrap:
  store i64 0, ptr %own_at
  %source_way = mul i64 %source_stride, %own
  %target_way = mul i64 %target_stride, %own
  %source_back = sub i64 0, %source_way
  %target_back = sub i64 0, %target_way
  %wrapped_source = getelementptr i8, ptr %axis_source, i64 %source_back
  %wrapped_target = getelementptr i8, ptr %axis_target, i64 %target_back
  br label %axis

piece_done:
  %next_number = add i64 %number, 1
  %axis_words = mul i64 %rank, 3
  %next_piece = getelementptr i64, ptr %axes, i64 %axis_words
  br label %piece

done:
  ret void
}
