; The native driver, a template: `driver.py` puts in what begins with a dollar sign, and states the conditions (1) to (7)
; that comments here cite. Places in a team's memory are those of `driver.py`: ROW_AT, DONE_AT, CELLS_AT.

$declarations

; Waits a little: an instruction that lets the other thread of the core run; later on the processor is offered (3).
define internal void @pause(ptr %team, i64 %round) alwaysinline {
  %short = icmp slt i64 %round, $spins
  br i1 %short, label %relax, label %yield
relax:
  $pause
  ret void
yield:
  %place = getelementptr i8, ptr %team, i64 $yield_at
  %function = load ptr, ptr %place
  %known = icmp ne ptr %function, null
  br i1 %known, label %call, label %relax
call:
  %status = call i32 %function()
  ret void
}

; Where the cell of a worker is (3).
define internal ptr @cell_of(ptr %team, i64 %worker) alwaysinline {
  %offset = mul i64 %worker, $cell_bytes
  %start = add i64 %offset, $cells_at
  %cell = getelementptr i8, ptr %team, i64 %start
  ret ptr %cell
}

; Calls the kernel of a row (1), with the slots of the table that `row` lies in (4).
define internal void @run_part(ptr %row, i64 %part, i64 %parts) {
  %slots_at = getelementptr i64, ptr %row, i64 1
  %kernel = load ptr, ptr %row
  %slots = load ptr, ptr %slots_at
  call void %kernel(ptr %slots, i64 %part, i64 %parts)
  ret void
}

; (5) The comparison fails if the cell has been claimed, or belongs to a later row: numbers of rows only grow.
; Claims the part of a worker's cell if that still is `open`, and runs it: 1 if so.
define internal i64 @claim(ptr %team, i64 %worker, i64 %open, ptr %row, i64 %stride, i64 %parts) {
  %cell = call ptr @cell_of(ptr %team, i64 %worker)
  %taken = or i64 %open, 1
  %swap = cmpxchg ptr %cell, i64 %open, i64 %taken acq_rel monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %run, label %lost
run:
  %part = add i64 %worker, 1
  %skip = mul i64 %part, %stride
  %own = getelementptr i8, ptr %row, i64 %skip
  call void @run_part(ptr %own, i64 %part, i64 %parts)
  ret i64 1
lost:
  ret i64 0
}

; Opens a row, runs part 0, claims what is left, and waits for what others have claimed (3).
define internal void @share_row(ptr %team, ptr %row, i64 %stride, i64 %parts) {
entry:
  %number_at = getelementptr i8, ptr %team, i64 $row_at
  %address_at = getelementptr i64, ptr %number_at, i64 1
  %stride_at = getelementptr i64, ptr %number_at, i64 2
  %parts_at = getelementptr i64, ptr %number_at, i64 3
  %done_at = getelementptr i8, ptr %team, i64 $done_at
  %last = load i64, ptr %number_at
  %number = add i64 %last, 1
  %open = shl i64 %number, 1
  %others = sub i64 %parts, 1
  ; Nobody reads these before a cell says that the row is open: it is stored last, and releases them (5).
  store i64 %number, ptr %number_at
  store ptr %row, ptr %address_at
  store i64 %stride, ptr %stride_at
  store i64 %parts, ptr %parts_at
  store atomic i64 0, ptr %done_at monotonic, align 8
  br label %cells
cells:
  %w = phi i64 [ 0, %entry ], [ %w_next, %open_cell ]
  %any = icmp slt i64 %w, %others
  br i1 %any, label %open_cell, label %own
open_cell:
  %cell = call ptr @cell_of(ptr %team, i64 %w)
  store atomic i64 %open, ptr %cell release, align 8
  %w_next = add i64 %w, 1
  br label %cells
own:
  call void @run_part(ptr %row, i64 0, i64 %parts)
  br label %rest
  ; (3) What nobody has claimed is run here: a worker may be asleep or away.
rest:
  %c = phi i64 [ 0, %own ], [ %c_next, %tried ]
  %mine = phi i64 [ 0, %own ], [ %mine_next, %tried ]
  %left = icmp slt i64 %c, %others
  br i1 %left, label %tried, label %wait
tried:
  %ran = call i64 @claim(ptr %team, i64 %c, i64 %open, ptr %row, i64 %stride, i64 %parts)
  %mine_next = add i64 %mine, %ran
  %c_next = add i64 %c, 1
  br label %rest
  ; (3) Parts that others run are waited for; what they have stored is seen from here on.
wait:
  %round = phi i64 [ 0, %rest ], [ %more, %again ]
  %done = load atomic i64, ptr %done_at acquire, align 8
  %all = add i64 %done, %mine
  %complete = icmp eq i64 %all, %others
  br i1 %complete, label %end, label %again
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
end:
  ret void
}

; (7)
; The row after a control row, as (number, whether the walk halts there). A run that a loop ends gives -1 - its row.
define internal { i64, i1 } @control(ptr %row, i64 %index, ptr %deadline) {
  %slots_at = getelementptr i64, ptr %row, i64 1
  %function = load ptr, ptr %row
  %slots = load ptr, ptr %slots_at
  %jump = call i64 %function(ptr %slots)
  %stops = icmp eq i64 %jump, $stop
  br i1 %stops, label %stop, label %on
stop:
  %coded = sub i64 -1, %index
  %halted = insertvalue { i64, i1 } { i64 0, i1 1 }, i64 %coded, 0
  ret { i64, i1 } %halted
on:
  %next = add i64 %index, %jump
  %going = insertvalue { i64, i1 } { i64 0, i1 0 }, i64 %next, 0
  %back = icmp sle i64 %jump, 0
  br i1 %back, label %look, label %go
look:
  %now = call i64 @$clock()
  %end = load i64, ptr %deadline
  ; (7) The time begins with the first jump back: straight runs never ask for it.
  %first = icmp eq i64 %end, 0
  br i1 %first, label %begin, label %compare
begin:
  %later = add i64 %now, $pause_ticks
  store i64 %later, ptr %deadline
  br label %go
compare:
  %late = icmp ugt i64 %now, %end
  %paused = insertvalue { i64, i1 } %going, i1 %late, 1
  ret { i64, i1 } %paused
go:
  ret { i64, i1 } %going
}

; Runs rows on this thread alone (2); parts are 1.
define i64 @fuse_drive(ptr %rows, i64 %first, i64 %count) {
entry:
  %deadline = alloca i64
  store i64 0, ptr %deadline
  br label %next_row
next_row:
  %index = phi i64 [ %first, %entry ], [ %next, %single ], [ %target, %jump ]
  %more = icmp slt i64 %index, %count
  br i1 %more, label %row, label %done
row:
  %at = getelementptr [3 x i64], ptr %rows, i64 %index
  %flags_at = getelementptr i64, ptr %at, i64 2
  %flags = load i64, ptr %flags_at
  %control_bit = and i64 %flags, 2
  %is_control = icmp ne i64 %control_bit, 0
  br i1 %is_control, label %jump, label %single
single:
  call void @run_part(ptr %at, i64 0, i64 1)
  %next = add i64 %index, 1
  br label %next_row
jump:
  %went = call { i64, i1 } @control(ptr %at, i64 %index, ptr %deadline)
  %target = extractvalue { i64, i1 } %went, 0
  %halts = extractvalue { i64, i1 } %went, 1
  br i1 %halts, label %halt, label %next_row
halt:
  ret i64 %target
done:
  ret i64 %count
}

; Adds the ticks since `last` to those of a row; gives the counter, or 0 if nobody asks.
define internal i64 @stamp(ptr %times, i64 %index, i64 %last) alwaysinline {
  %asked = icmp ne ptr %times, null
  br i1 %asked, label %note, label %done
note:
  %now = call i64 @$clock()
  %started = icmp ne i64 %last, 0
  br i1 %started, label %add, label %noted
add:
  %at = getelementptr i64, ptr %times, i64 %index
  %before = load i64, ptr %at
  %taken = sub i64 %now, %last
  %sum = add i64 %before, %taken
  store i64 %sum, ptr %at
  br label %noted
noted:
  ret i64 %now
done:
  ret i64 0
}

; Runs rows with the team's workers, or alone where another caller has them (6).
define i64 @fuse_run(ptr %team, i64 %parts, ptr %rows, i64 %stride, i64 %first, i64 %count, ptr %times) {
entry:
  %deadline = alloca i64
  store i64 0, ptr %deadline
  ; (6)
  %swap = cmpxchg ptr %team, i64 0, i64 1 acq_rel monotonic
  %free = extractvalue { i64, i1 } %swap, 1
  br i1 %free, label %start, label %alone
alone:
  %reached = call i64 @fuse_drive(ptr %rows, i64 %first, i64 %count)
  ret i64 %reached
start:
  %began = call i64 @stamp(ptr %times, i64 0, i64 0)
  br label %next_row
next_row:
  %index = phi i64 [ %first, %start ], [ %next, %after ]
  %since = phi i64 [ %began, %start ], [ %now, %after ]
  %more = icmp slt i64 %index, %count
  br i1 %more, label %row, label %leave
row:
  %at = getelementptr [3 x i64], ptr %rows, i64 %index
  %flags_at = getelementptr i64, ptr %at, i64 2
  %flags = load i64, ptr %flags_at
  %following = add i64 %index, 1
  switch i64 %flags, label %single [ i64 1, label %share
                                     i64 2, label %jump ]
share:
  call void @share_row(ptr %team, ptr %at, i64 %stride, i64 %parts)
  br label %after
single:
  call void @run_part(ptr %at, i64 0, i64 1)
  br label %after
jump:
  %went = call { i64, i1 } @control(ptr %at, i64 %index, ptr %deadline)
  %target = extractvalue { i64, i1 } %went, 0
  %halts = extractvalue { i64, i1 } %went, 1
  br i1 %halts, label %leave, label %after
after:
  %next = phi i64 [ %following, %share ], [ %following, %single ], [ %target, %jump ]
  %now = call i64 @stamp(ptr %times, i64 %index, i64 %since)
  br label %next_row
leave:
  %end = phi i64 [ %count, %next_row ], [ %target, %jump ]
  store atomic i64 0, ptr %team release, align 8
  ret i64 %end
}

; In the place of any row: ends the run as a control row, and does nothing as a kernel.
define i64 @fuse_stop(ptr %slots) {
  ret i64 $stop
}

; What a worker does: it claims its part when its cell opens (5), helps with the others, and leaves after a while.
define void @fuse_worker_loop(ptr %team, i64 %worker, i64 %patience) {
entry:
  %number_at = getelementptr i8, ptr %team, i64 $row_at
  %address_at = getelementptr i64, ptr %number_at, i64 1
  %stride_at = getelementptr i64, ptr %number_at, i64 2
  %parts_at = getelementptr i64, ptr %number_at, i64 3
  %done_at = getelementptr i8, ptr %team, i64 $done_at
  %cell = call ptr @cell_of(ptr %team, i64 %worker)
  %state = getelementptr i8, ptr %cell, i64 $state_at
  store atomic i64 1, ptr %state release, align 8
  br label %wait
wait:
  %round = phi i64 [ 0, %entry ], [ 0, %help_end ], [ 0, %lost ], [ %more, %again ]
  %now = load atomic i64, ptr %cell acquire, align 8
  %closed_bit = and i64 %now, 1
  %closed = icmp ne i64 %closed_bit, 0
  %empty = icmp eq i64 %now, 0
  %nothing = or i1 %closed, %empty
  br i1 %nothing, label %idle, label %try
idle:
  %patient = icmp slt i64 %round, %patience
  br i1 %patient, label %again, label %leave
again:
  call void @pause(ptr %team, i64 %round)
  %more = add i64 %round, 1
  br label %wait
try:
  %taken = or i64 %now, 1
  %swap = cmpxchg ptr %cell, i64 %now, i64 %taken acq_rel monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %work, label %lost
lost:
  br label %wait
work:
  %row = load ptr, ptr %address_at
  %stride = load i64, ptr %stride_at
  %parts = load i64, ptr %parts_at
  %part = add i64 %worker, 1
  %skip = mul i64 %part, %stride
  %own = getelementptr i8, ptr %row, i64 %skip
  call void @run_part(ptr %own, i64 %part, i64 %parts)
  br label %help
help:
  ; (5) Until it counts its part as done, the row lives, and with it the parts that others left open.
  %h = phi i64 [ 0, %work ], [ %h_next, %helped ]
  %sum = phi i64 [ 1, %work ], [ %sum_next, %helped ]
  %others = sub i64 %parts, 1
  %left = icmp slt i64 %h, %others
  br i1 %left, label %helped, label %help_end
helped:
  %ran = call i64 @claim(ptr %team, i64 %h, i64 %now, ptr %row, i64 %stride, i64 %parts)
  %sum_next = add i64 %sum, %ran
  %h_next = add i64 %h, 1
  br label %help
help_end:
  %before = atomicrmw add ptr %done_at, i64 %sum acq_rel
  br label %wait
leave:
  store atomic i64 0, ptr %state release, align 8
  ret void
}
